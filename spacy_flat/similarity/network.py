"""RE2 (Yang et al., ACL 2019) as a plain torch module.

Shapes: R rows of texts (see `TextBatch`), B pairs, L units of the longest text (La, Lb: of one
side), D width, K classes.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import gelu
from torch.nn.utils.parametrizations import weight_norm

from ..nn.embeddings import EmbeddingNetwork, PretrainedEmbedding, Sizes
from ..nn.layers import Dropout, Linear, linear
from .batch import TextBatch
from .options import RE2Options

KERNEL_SIZE = 3
MAX_WEIGHTS = 1 << 22  # attention weights computed at once
Sides = list[Tensor]  # of the left texts and of the right ones


class RE2(EmbeddingNetwork):
    """Embeddings; blocks of encoder, alignment and fusion; the maximum over units; prediction."""

    sizes_class = Sizes

    def __init__(self, options: RE2Options, sizes: Sizes) -> None:
        super().__init__()
        self.options = options
        tables = (sizes.chars, sizes.bigrams, sizes.words)
        self.chars, self.bigrams, self.words = (
            PretrainedEmbedding(table) if table.width else None for table in tables
        )
        self.embed_dropout = Dropout(options.embed_dropout)
        self.embed_width = embed_width = sum(table.width for table in tables) + sizes.upstream_width
        # The first block reads the embeddings alone.
        widths = [embed_width] + [embed_width + options.hidden] * (options.blocks - 1)
        self.blocks = nn.ModuleList(Block(options, width) for width in widths)
        self.n_outputs: int = len(sizes.labels) if options.objective == "classes" else 1
        self.predict = Prediction(options, self.n_outputs)

    def forward(self, batch: TextBatch) -> Tensor:
        """Compare pairs: [B, K] logits, or [B, 1] scores."""
        return self.compare(self.embed(batch), self.texts(batch))

    def compare(self, embedded: Tensor, texts: "Texts") -> Tensor:
        """As `forward`, of embeddings [R, D]."""
        *_, (_, _, outputs) = self.read(embedded, texts)
        logits: Tensor = self.predict(*texts.largest(outputs))
        return logits

    def alignments(self, batch: TextBatch) -> list[Tensor]:
        """[B, La, Lb] the attention of each block, the mean of both directions."""
        texts, embedded = self.texts(batch), self.embed(batch)
        return [block.alignment.weights(x, texts) for block, x, _ in self.read(embedded, texts)]

    def embed(self, batch: TextBatch) -> Tensor:
        """[R, D] embeddings."""
        tables = {"chars": self.chars, "bigrams": self.bigrams, "words": self.words}
        parts = [table(self.to_tensor(batch.ids[name])) for name, table in tables.items() if table]
        if batch.upstream is not None:
            parts.append(batch.upstream)
        embedded: Tensor = self.embed_dropout(torch.cat(parts, dim=1))
        return embedded

    def texts(self, batch: TextBatch) -> "Texts":
        rows, present = ([*map(self.to_tensor, each)] for each in (batch.rows, batch.present))
        return Texts(self.to_tensor(batch.owners), rows, present, self.to_tensor(batch.places))

    def read(self, embedded: Tensor, texts: "Texts") -> Iterator[tuple["Block", Tensor, Tensor]]:
        """Apply the blocks. Yields each with what it aligns [R, D] and its output [R, hidden]."""
        entering = embedded
        outputs: list[Tensor] = []
        for block in self.blocks:
            assert isinstance(block, Block)
            if outputs:  # augmented residual connections (section 2.1 of the paper)
                entering = torch.cat([embedded, torch.stack(outputs[-2:]).sum(dim=0)], dim=1)
            x = torch.cat([entering, block.encoder(entering, texts.owners)], dim=1)
            outputs.append(block.fusion(x, block.alignment(x, texts)))
            yield block, x, outputs[-1]

    def loss(self, outputs: Tensor, gold: NDArray[Any]) -> Tensor:
        """Sum over pairs: cross-entropy of logits [B, K] and numbers of classes [B], or squared
        distance of scores [B, 1] and [B]."""
        target = self.to_tensor(gold)
        if self.options.objective == "score":
            return nn.functional.mse_loss(outputs[:, 0], target, reduction="sum")
        return nn.functional.cross_entropy(outputs, target, reduction="sum")


@dataclass(frozen=True)
class Texts:
    """Where texts stand: `TextBatch` on the network's device."""

    owners: Tensor
    rows: Sides
    present: Sides
    places: Tensor

    def pad(self, x: Tensor) -> Sides:
        """[R, D] → [B, La, D] and [B, Lb, D]"""
        # Its backward pass is faster than that of indexing.
        return [nn.functional.embedding(rows, x) for rows in self.rows]

    def unpad(self, sides: Sides) -> Tensor:
        """The inverse of `pad`."""
        units = torch.cat([side.flatten(0, 1) for side in sides])
        return nn.functional.embedding(self.places, units)

    def largest(self, x: Tensor) -> Sides:
        """[R, D] → [B, D] of each side, the maximum over the units of each text."""
        sides = zip(self.pad(x), self.present, strict=True)
        return [side.masked_fill(~own[:, :, None], -math.inf).amax(dim=1) for side, own in sides]


class Block(nn.Module):
    """Encoder, alignment and fusion (sections 2.1 to 2.3)."""

    def __init__(self, options: RE2Options, width: int) -> None:
        super().__init__()
        self.encoder = ConvolutionEncoder(options, width)
        both = width + options.hidden
        self.alignment = AlignmentLayer(options, both)
        self.fusion = Fusion(options, both)


class ConvolutionEncoder(nn.Module):
    """Convolutions over the units of each text."""

    def __init__(self, options: RE2Options, width: int) -> None:
        super().__init__()
        widths = [width] + [options.hidden] * (options.encoder_layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList([make_convolution(width, options.hidden)])  # as in saved weights
            for width in widths
        )
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, owners: Tensor) -> Tensor:
        """[R, D] → [R, hidden]. owners: [R] the texts of the rows"""
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, nn.ModuleList)
            x = self.dropout(x) if number else x
            x = gelu(convolve(layer[0], x, owners))
        out: Tensor = self.dropout(x)
        return out


def convolve(convolution: nn.Module, x: Tensor, owners: Tensor) -> Tensor:
    """[R, D] → [R, K], within each text.

    Faster than `conv1d`, and without padding.
    """
    assert isinstance(convolution, nn.Conv1d)
    padded = nn.functional.pad(x, (0, 0, 1, 1))
    around = nn.functional.pad(owners, (1, 1), value=-1)
    parts = [
        padded[start : start + len(x)].masked_fill(
            (around[start : start + len(x)] != owners)[:, None], 0.0
        )
        for start in range(KERNEL_SIZE)
    ]
    weight = convolution.weight.transpose(1, 2).flatten(1)  # [K, 3·D]
    return linear(torch.cat(parts, dim=1), weight, convolution.bias)


class AlignmentLayer(nn.Module):
    """The units of the other text, weighted by attention (equations 1 to 3)."""

    def __init__(self, options: RE2Options, width: int) -> None:
        super().__init__()
        self.temperature = nn.Parameter(torch.tensor(1 / math.sqrt(options.hidden)))
        self.project = nn.Sequential(
            Dropout(options.dropout), make_linear(width, options.hidden), nn.GELU()
        )

    def forward(self, x: Tensor, texts: Texts) -> Tensor:
        """[R, D] → [R, D] the vectors that the units are aligned with."""
        (a, b), (of_a, of_b), (keys_a, keys_b) = texts.pad(x), texts.present, self.keys(x, texts)
        aligned = self.align(keys_a, keys_b, of_b, b), self.align(keys_b, keys_a, of_a, a)
        return texts.unpad([*aligned])

    def weights(self, x: Tensor, texts: Texts) -> Tensor:
        """[B, La, Lb] the mean of both texts' attention to each other."""
        (a, b), (of_a, of_b) = self.keys(x, texts), texts.present
        return (self.attention(a, b, of_b) + self.attention(b, a, of_a).transpose(1, 2)) / 2

    def keys(self, x: Tensor, texts: Texts) -> Sides:
        """[B, L, D] of each side, what the scores are computed from."""
        return texts.pad(self.project(x))

    def align(self, queries: Tensor, keys: Tensor, present: Tensor, values: Tensor) -> Tensor:
        """Weighted sums [B, La, D] of values [B, Lb, D]; in prediction with at most `MAX_WEIGHTS`
        weights in memory, or those of one unit."""
        step = max(1, MAX_WEIGHTS // present.numel())
        parts: Any = torch.split(queries, step, dim=1)
        return torch.cat([self.attention(part, keys, present) @ values for part in parts], dim=1)

    def attention(self, queries: Tensor, keys: Tensor, present: Tensor) -> Tensor:
        """[B, La, D] and [B, Lb, D] → [B, La, Lb], whose rows sum to 1. present: [B, Lb]"""
        scores = queries @ keys.transpose(1, 2) * self.temperature
        return scores.masked_fill(~present[:, None], -math.inf).softmax(dim=2)


class Fusion(nn.Module):
    """Three comparisons of a unit and its aligned vector (equation 4): G₁([x; a]), G₂([x; x − a])
    and G₃([x; x ∘ a]), and a layer over them."""

    def __init__(self, options: RE2Options, width: int) -> None:
        super().__init__()
        hidden = options.hidden
        self.beside = make_linear(2 * width, hidden)
        self.difference = make_linear(2 * width, hidden)
        self.product = make_linear(2 * width, hidden)
        self.join = make_linear(3 * hidden, hidden)
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, aligned: Tensor) -> Tensor:
        """Each [R, D] → [R, hidden]."""
        compared = [
            self.beside(torch.cat([x, aligned], dim=1)),
            self.difference(torch.cat([x, x - aligned], dim=1)),
            self.product(torch.cat([x, x * aligned], dim=1)),
        ]
        return gelu(self.join(torch.cat([self.dropout(gelu(each)) for each in compared], dim=1)))


class Prediction(nn.Module):
    """From the vectors of both texts, in any order, to the classes or the score (equation 5)."""

    def __init__(self, options: RE2Options, n_outputs: int) -> None:
        super().__init__()
        self.compare = make_linear(3 * options.hidden, options.hidden)
        self.classify = make_linear(options.hidden, n_outputs, activated=False)
        self.dropout = Dropout(options.dropout)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Each [B, D] → [B, K]."""
        features = torch.cat([left + right, (left - right).abs(), left * right], dim=1)
        compared = gelu(self.compare(self.dropout(features)))
        outputs: Tensor = self.classify(self.dropout(compared))
        return outputs


def make_linear(n_in: int, n_out: int, *, activated: bool = True) -> Linear:
    """A linear layer with weight normalisation, initialised after He et al. (2015)."""
    layer = Linear(n_in, n_out)
    _initialise(layer, n_in, activated)
    weight_norm(layer)
    return layer


def make_convolution(n_in: int, n_out: int) -> nn.Conv1d:
    """A convolution with weight normalisation; see `convolve`."""
    convolution = nn.Conv1d(n_in, n_out, KERNEL_SIZE)
    _initialise(convolution, n_in * KERNEL_SIZE, activated=True)
    weight_norm(convolution)
    return convolution


def _initialise(layer: nn.Linear | nn.Conv1d, fan_in: int, activated: bool) -> None:
    nn.init.normal_(layer.weight, std=math.sqrt((2 if activated else 1) / fan_in))
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
