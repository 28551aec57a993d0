"""Encoders of characters as plain torch modules: BERT's Transformer, and LSTMs in two directions.

Shapes: B blocks, C characters (or pieces) with marks, H heads, D width, K keys, N characters of all
texts, U units of them.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from ..nn.attention import dot_product_attention
from ..nn.layers import Dropout
from ..nn.windows import read_windows
from ..util.arrays import Ints
from .recipes import Network

if TYPE_CHECKING:  # networks import no thinc
    from ..text.windows import WindowBatch

EPSILON = 1e-12  # of the normalisation, as BERT has it
WIDEST_EMBEDDING = 192  # that LSTMs read


@dataclass(frozen=True)
class EncoderSizes:
    """positions: the longest block, with its marks.
    heads, ff, epsilon: of a Transformer: attention heads, width of the feed-forward layers, epsilon
        of the normalisations.
    """

    network: Network
    keys: int
    width: int
    layers: int
    positions: int
    heads: int = 0
    ff: int = 0
    epsilon: float = EPSILON

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def output_width(self) -> int:
        return self.width if self.network == "transformer" else 2 * self.width


class Embeddings(nn.Module):
    """BERT's embeddings, with one token type."""

    def __init__(self, sizes: EncoderSizes, dropout: float) -> None:
        super().__init__()
        self.word_embeddings = make_table(sizes.keys, sizes.width)
        self.position_embeddings = make_table(sizes.positions, sizes.width)
        self.token_type_embeddings = make_table(1, sizes.width)
        self.LayerNorm = nn.LayerNorm(sizes.width, eps=sizes.epsilon)
        self.dropout = Dropout(dropout)

    def forward(self, keys: Tensor) -> Tensor:
        """[B, C] → [B, C, D]."""
        places = self.position_embeddings.weight[: keys.shape[1]]
        x = self.word_embeddings(keys) + places + self.token_type_embeddings.weight[0]
        dropped: Tensor = self.dropout(self.LayerNorm(x))
        return dropped


class SelfAttention(nn.Module):
    """Dot-product attention under BERT's names."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.query = make_linear(sizes.width, sizes.width)
        self.key = make_linear(sizes.width, sizes.width)
        self.value = make_linear(sizes.width, sizes.width)

    def forward(self, x: Tensor, visible: Tensor | None) -> Tensor:
        """[B, C, D] → [B, C, D]."""
        return dot_product_attention(
            self.query(x), self.key(x), self.value(x), visible, num_heads=self.heads
        )


class Sum(nn.Module):
    """A linear map with residual connection and normalisation."""

    def __init__(self, sizes: EncoderSizes, inner: int, dropout: float) -> None:
        super().__init__()
        self.dense = make_linear(inner, sizes.width)
        self.LayerNorm = nn.LayerNorm(sizes.width, eps=sizes.epsilon)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, around: Tensor) -> Tensor:
        summed: Tensor = self.LayerNorm(self.dropout(self.dense(x)) + around)
        return summed


class BertLayer(nn.Module):
    """BERT's layer, under its names."""

    def __init__(self, sizes: EncoderSizes, dropout: float) -> None:
        super().__init__()
        self.attention = nn.ModuleDict(
            {"self": SelfAttention(sizes), "output": Sum(sizes, sizes.width, dropout)}
        )
        self.intermediate = nn.ModuleDict({"dense": make_linear(sizes.width, sizes.ff)})
        self.output = Sum(sizes, sizes.ff, dropout)

    def forward(self, x: Tensor, visible: Tensor | None) -> Tensor:
        x = self.attention["output"](self.attention["self"](x, visible), x)
        wide = nn.functional.gelu(self.intermediate["dense"](x))
        out: Tensor = self.output(wide, x)
        return out


class Bert(nn.Module):
    """BERT's encoder (Devlin et al., 2019), under its names."""

    def __init__(self, sizes: EncoderSizes, dropout: float) -> None:
        super().__init__()
        self.embeddings = Embeddings(sizes, dropout)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(BertLayer(sizes, dropout) for _ in range(sizes.layers))

    def forward(self, keys: Tensor, present: Tensor | None = None) -> list[Tensor]:
        """keys: [B, C]; present: [B, C] false for padding. Returns [B, C, D] for each layer."""
        x, outputs = self.embeddings(keys), []
        visible = None if present is None else present[:, None]
        for layer in cast("nn.ModuleList", self.encoder.layer):
            x = layer(x, visible)
            outputs.append(x)
        return outputs


class TwoWayLSTM(nn.Module):
    """Independent LSTMs in two directions (Peters et al., 2018; Akbik et al., 2018)."""

    def __init__(self, sizes: EncoderSizes, dropout: float) -> None:
        super().__init__()
        width = embedding_width(sizes)
        self.embeddings = make_table(sizes.keys, width)
        self.dropout = Dropout(dropout)
        self.forwards = make_lstms(sizes, width)
        self.backwards = make_lstms(sizes, width)

    def forward(self, keys: Tensor, present: Tensor | None = None) -> list[Tensor]:
        """keys: [B, C]; present: [B, C] false for padding. Returns [B, C, 2·D] for each layer."""
        places = torch.arange(keys.shape[1], device=keys.device).expand(keys.shape)
        lengths = torch.full_like(keys[:, :1], keys.shape[1])
        if present is not None:
            lengths = present.sum(1, keepdim=True)
        # Reverse each text, but not its padding.
        mirrored = torch.where(places < lengths, lengths - 1 - places, places)[:, :, None]
        left = right = self.dropout(self.embeddings(keys))
        right = take_along(right, mirrored)
        outputs = []
        for forward, backward in zip(self.forwards, self.backwards, strict=True):
            left, right = forward(left)[0], backward(right)[0]
            outputs.append(torch.cat([left, take_along(right, mirrored)], dim=2))
            left, right = self.dropout(left), self.dropout(right)
        return outputs


class Encoder(nn.Module):
    """An encoder with one vector per character: "mean" or "concat" of its last layers."""

    def __init__(
        self, sizes: EncoderSizes, *, layers: int = 1, combine: str = "mean", dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self.layers = layers
        self.combine = combine
        self.encoder = make_encoder(sizes, dropout)

    @property
    def width(self) -> int:
        return self.sizes.output_width * (self.layers if self.combine == "concat" else 1)

    def forward(self, keys: Tensor, present: Tensor) -> Tensor:
        """[B, C] keys, [B, C] false for padding → [B, C, width]."""
        outputs = self.encoder(keys, present)[-self.layers :]
        if self.combine == "concat":
            return torch.cat(outputs, dim=2)
        return torch.stack(outputs).mean(0)

    def of_characters(
        self, batches: "Iterable[WindowBatch]", n: int, pieces: Ints | None
    ) -> Tensor:
        """[N, width] vectors of the characters of all texts.

        n: number of pieces. pieces: [N] that of each character, n for none; None if the pieces are
            the characters.
        """
        device = next(self.parameters()).device
        # Beyond the last piece are zeros, since no window has it.
        vectors = read_windows(self, batches, n if pieces is None else n + 1, self.width, device)
        if pieces is None:
            return vectors
        return vectors.index_select(0, torch.from_numpy(pieces).to(device))


def mean_of_units(vectors: Tensor, units: Ints, n_units: int) -> Tensor:
    """Means [U, D] of the characters [N, D] of each unit.

    units: [N] number of each character's unit from 1; 0 for none.
    """
    numbers = torch.from_numpy(units).to(vectors.device)
    sums = vectors.new_zeros(n_units + 1, vectors.shape[1])
    counts = torch.bincount(numbers, minlength=n_units + 1).clamp(min=1)
    return (sums.index_add(0, numbers, vectors) / counts[:, None])[1:]


def make_encoder(sizes: EncoderSizes, dropout: float) -> Bert | TwoWayLSTM:
    kind = Bert if sizes.network == "transformer" else TwoWayLSTM
    return kind(sizes, dropout)


def make_table(keys: int, width: int) -> nn.Embedding:
    """Initialised as in BERT."""
    table = nn.Embedding(keys, width)
    nn.init.normal_(table.weight, std=0.02)
    return table


def make_linear(width: int, out: int) -> nn.Linear:
    """Initialised as in BERT."""
    linear = nn.Linear(width, out)
    nn.init.normal_(linear.weight, std=0.02)
    nn.init.zeros_(linear.bias)
    return linear


def embedding_width(sizes: EncoderSizes) -> int:
    """The width of the characters that LSTMs read."""
    return min(sizes.width, WIDEST_EMBEDDING)


def make_lstms(sizes: EncoderSizes, width: int) -> nn.ModuleList:
    return nn.ModuleList(
        nn.LSTM(sizes.width if number else width, sizes.width, batch_first=True)
        for number in range(sizes.layers)
    )


def take_along(x: Tensor, places: Tensor) -> Tensor:
    """x: [B, C, D]; places: [B, C, 1] of C. Returns the rows at these."""
    return x.gather(1, places.expand(-1, -1, x.shape[2]))
