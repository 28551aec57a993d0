"""RE2 (Yang et al., ACL 2019) as a plain torch module.

Shapes: N texts, B pairs, S = 2 × B sides of pairs (the left texts, then the right ones), L units of
the longest text, R rows (units without padding), D width, K classes. Padding is zero everywhere.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import gelu
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.checkpoint import checkpoint

from ..nn.layers import Dropout, Linear, linear
from ..nn.network import EmbeddingNetwork, PretrainedEmbedding, Sizes
from ..util.arrays import Ints
from .batch import PairBatch
from .options import RE2Options

MULTIPLE = 64  # of rows: matrix libraries prepare for each number of them
MAX_WEIGHTS = 1 << 22  # attention weights computed at once


class RE2(EmbeddingNetwork):
    """Embeddings; blocks of encoder, alignment and fusion; the maximum over units; prediction."""

    sizes_class = Sizes

    def __init__(self, options: RE2Options, sizes: Sizes) -> None:
        super().__init__(options.key_dropout)
        self.options = options
        self.sizes = sizes
        tables = (sizes.chars, sizes.bigrams, sizes.words)
        self.chars, self.bigrams, self.words = (
            PretrainedEmbedding(table) if table.width else None for table in tables
        )
        self.embed_dropout = Dropout(options.embed_dropout)
        self.embed_width = sum(table.width for table in tables) + sizes.upstream_width
        # The first block reads the embeddings alone.
        hidden = options.hidden
        later = self.embed_width + hidden if options.connection == "aug" else hidden
        widths = [self.embed_width] + [later] * (options.blocks - 1)
        self.blocks = nn.ModuleList(Block(options, width) for width in widths)
        self.widen = None
        if options.connection == "residual" and options.blocks > 1 and self.embed_width != hidden:
            self.widen = make_linear(self.embed_width, hidden)
        n_outputs = len(sizes.labels) if options.objective == "classes" else 1
        self.predict = Prediction(options, n_outputs)

    def forward(self, batch: PairBatch, upstream: Tensor | None = None) -> Tensor:
        """Compare pairs: [B, K] logits, or [B, 1] scores.

        upstream: [N, L, W] other vectors of the texts' units, such as a tok2vec's.
        """
        encoded = self.encode(self.embed(batch.texts.keys, upstream), batch.texts.n_units)
        return self.compare(encoded, batch.texts.n_units, batch.left, batch.right)

    def embed(self, keys: Ints, upstream: Tensor | None = None) -> Tensor:
        """[N, L, D] embeddings. keys: [3, N, L] of characters, bigrams and words."""
        tables = (self.chars, self.bigrams, self.words)
        parts = [
            table(self.keys(own))
            for table, own in zip(tables, keys, strict=True)
            if table is not None
        ]
        if upstream is not None:
            parts.append(upstream)
        embedded: Tensor = self.embed_dropout(beside(parts))
        return embedded

    def encode(self, embedded: Tensor, n_units: Ints) -> Tensor:
        """Encode texts independently of each other: [N, L, D] embeddings and outputs of the first
        encoder, concatenated. n_units: [N]"""
        mask = self.mask(n_units, embedded.shape[1])
        return self.first.beside_encoding(embedded * mask.present[:, :, None], mask)

    def recall(
        self, keys: Ints, upstream: NDArray[Any] | None, encoded: NDArray[Any], n_units: Ints
    ) -> Tensor:
        """What `encode` returned, from stored arrays. encoded: [N, L, hidden]"""
        vectors = None if upstream is None else self.to_tensor(upstream).float()
        units = beside([self.embed(keys, vectors), self.to_tensor(encoded).float()])
        return units * self.mask(n_units, units.shape[1]).present[:, :, None]

    def compare(self, encoded: Tensor, n_units: Ints, left: Ints, right: Ints) -> Tensor:
        """[N, L, D] as `encode` returns, [B] numbers of texts → [B, K]."""
        x, mask = self.sides(encoded, n_units, left, right)
        outputs = self.read(x, mask)
        largest = outputs.masked_fill(~mask.present[:, :, None], -math.inf).amax(dim=1)
        logits: Tensor = self.predict(*largest.chunk(2))
        return logits

    def alignments(
        self, encoded: Tensor, n_units: Ints, left: Ints, right: Ints
    ) -> list[tuple[Tensor, Tensor]]:
        """The attention [B, L, L] of each block, of the left texts' units and of the right ones'.
        Arguments as in `compare`."""
        found: list[tuple[Tensor, Tensor]] = []
        self.read(*self.sides(encoded, n_units, left, right), found)
        return found

    def sides(
        self, encoded: Tensor, n_units: Ints, left: Ints, right: Ints
    ) -> tuple[Tensor, "Mask"]:
        """[S, L, D], and which of it isn't padding."""
        numbers = np.concatenate([left, right])
        mask = self.mask(n_units[numbers], encoded.shape[1])
        x = encoded.index_select(0, self.to_tensor(numbers))
        return x, mask

    def mask(self, n_units: Ints, L: int) -> "Mask":
        """[N] units of texts, padded to L."""
        present = np.arange(L) < n_units[:, None]
        rows = np.flatnonzero(present)
        n_spare = -len(rows) % MULTIPLE
        sources, targets = (
            np.pad(rows, (0, n_spare), constant_values=to) for to in (0, present.size)
        )
        return Mask(*map(self.to_tensor, (present, sources, targets)))

    def read(
        self, x: Tensor, mask: "Mask", alignments: list[tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        """Apply the blocks: [S, L, D] → [S, L, hidden].

        alignments: collects those of each block.
        """
        embedded = entering = x[..., : self.embed_width]
        outputs: list[Tensor] = []
        for block in self.blocks:
            assert isinstance(block, Block)
            if outputs:
                entering = self.connect(embedded, entering, outputs, mask)
                x = block.beside_encoding(entering, mask)
            if alignments is not None:
                there, back = block.alignment.weights(x, mask).chunk(2)
                alignments.append((there, back))
            outputs.append(block(x, mask))
        return outputs[-1]

    def connect(
        self, embedded: Tensor, entered: Tensor, outputs: Sequence[Tensor], mask: "Mask"
    ) -> Tensor:
        """The input of the next block (section 2.1 of the paper).

        embedded: [S, L, D]; entered: the input of the last block; outputs: of each block before.
        """
        if self.options.connection == "none":
            return outputs[-1]
        scale = math.sqrt(0.5) if self.options.scaled_connection else 1.0
        if self.options.connection == "residual":
            if self.widen is not None and len(outputs) == 1:
                entered = mask.apply(self.widen, entered)
            return (outputs[-1] + entered) * scale
        total = outputs[-1] if len(outputs) == 1 else (outputs[-1] + outputs[-2]) * scale
        return torch.cat([embedded, total], dim=2)

    @property
    def first(self) -> "Block":
        block = self.blocks[0]
        assert isinstance(block, Block)
        return block

    def loss(self, outputs: Tensor, gold: NDArray[Any]) -> Tensor:
        """Sum over pairs: cross-entropy of logits [B, K] and numbers of classes [B], or squared
        distance of scores [B, 1] and [B]."""
        target = self.to_tensor(gold)
        if self.options.objective == "score":
            return nn.functional.mse_loss(outputs[:, 0], target, reduction="sum")
        return nn.functional.cross_entropy(outputs, target, reduction="sum")


class Mask(NamedTuple):
    """Which units of padded texts there are.

    Linear layers take most of the time, so they compute rows without padding.
    """

    present: Tensor  # [N, L] false for padding
    rows: Tensor  # [R] their places in [N × L], and spare ones
    targets: Tensor  # [R] the same, but N × L for spare ones

    def apply(self, layer: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        """Apply a layer for rows [R, D] to [N, L, D] → [N, L, K], zeros for padding."""
        return self.pad(layer(*(x.flatten(0, 1).index_select(0, self.rows) for x in inputs)))

    def pad(self, rows: Tensor) -> Tensor:
        """[R, D] → [N, L, D]"""
        N, L = self.present.shape
        padded = rows.new_zeros(N * L + 1, rows.shape[1])
        return padded.index_copy(0, self.targets, rows)[:-1].view(N, L, -1)

    def windows(self, x: Tensor, size: int) -> Tensor:
        """[N, L, D] → [R, size × D] the units around each, one more after than before if the size
        is even."""
        L, longer = x.shape[1], x.shape[1] + size - 1
        padded = nn.functional.pad(x, (0, 0, (size - 1) // 2, size // 2)).flatten(0, 1)
        first = self.rows // L * longer + self.rows % L
        places = first[:, None] + torch.arange(size, device=x.device)
        # Its backward pass is faster than that of indexing.
        return nn.functional.embedding(places, padded).flatten(1)


class Block(nn.Module):
    """Encoder, alignment and fusion (sections 2.1 to 2.3)."""

    def __init__(self, options: RE2Options, width: int) -> None:
        super().__init__()
        self.encoder = ConvolutionEncoder(options, width)
        both = width + options.hidden
        self.alignment = AlignmentLayer(options, both)
        fusion = FullFusion if options.fusion == "full" else SimpleFusion
        self.fusion = fusion(both, options.hidden, options.dropout)

    def beside_encoding(self, x: Tensor, mask: Mask) -> Tensor:
        """[N, L, D] → [N, L, D + hidden], input and output of the encoder."""
        return torch.cat([x, self.encoder(x, mask)], dim=2)

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[S, L, D], as `beside_encoding` returns → [S, L, hidden]."""
        return mask.apply(self.fusion, x, self.alignment(x, mask))


class ConvolutionEncoder(nn.Module):
    """Convolutions over the units of each text, of one or more kernel sizes in each layer."""

    def __init__(self, options: RE2Options, width: int) -> None:
        super().__init__()
        sizes, hidden = options.kernel_sizes, options.hidden
        widths = [width] + [hidden] * (options.encoder_layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(make_convolution(width, hidden // len(sizes), size) for size in sizes)
            for width in widths
        )
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[N, L, D] → [N, L, hidden]"""
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, nn.ModuleList)
            x = self.dropout(x) if number else x
            rows = torch.cat([convolve(each, x, mask) for each in layer], dim=1)
            x = mask.pad(gelu(rows))
        out: Tensor = self.dropout(x)
        return out


def beside(parts: list[Tensor]) -> Tensor:
    """[N, L, ...] parts → [N, L, D]; one alone is not copied."""
    return torch.cat(parts, dim=2) if len(parts) > 1 else parts[0]


def convolve(convolution: nn.Module, x: Tensor, mask: Mask) -> Tensor:
    """[N, L, D] → [R, K]"""
    assert isinstance(convolution, nn.Conv1d)
    weight = convolution.weight.transpose(1, 2).flatten(1)  # [K, size × D]
    return linear(mask.windows(x, convolution.kernel_size[0]), weight, convolution.bias)


class AlignmentLayer(nn.Module):
    """The units of the other text, weighted by attention (equations 1 to 3)."""

    def __init__(self, options: RE2Options, width: int) -> None:
        super().__init__()
        self.temperature = nn.Parameter(torch.tensor(1 / math.sqrt(options.hidden)))
        self.project = None
        if options.alignment == "linear":
            self.project = nn.Sequential(
                Dropout(options.dropout), make_linear(width, options.hidden), nn.GELU()
            )

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[S, L, D] → [S, L, D] aligned vectors, with at most `MAX_WEIGHTS` weights in memory (or
        those of one unit), in training too."""
        queries, values, L = self._project(x, mask), swapped(x), x.shape[1]
        keys, present = swapped(queries), swapped(mask.present)
        step = max(1, MAX_WEIGHTS // present.numel())
        if step >= L:
            return self.attention(queries, keys, present) @ values

        def part(start: int) -> Tensor:
            return self.attention(queries[:, start : start + step], keys, present) @ values

        starts = range(0, L, step)
        if torch.is_grad_enabled():
            parts = [checkpoint(part, start, use_reentrant=False) for start in starts]
            return torch.cat(parts, dim=1)
        # Parts that stay between large temporary tensors would fragment the memory.
        found = torch.empty_like(values)
        for start in starts:
            found[:, start : start + step] = part(start)
        return found

    def weights(self, x: Tensor, mask: Mask) -> Tensor:
        """The attention [S, L, L] of each unit to the other text's units."""
        queries = self._project(x, mask)
        return self.attention(queries, swapped(queries), swapped(mask.present))

    def _project(self, x: Tensor, mask: Mask) -> Tensor:
        """[S, L, D] what the scores are computed from."""
        return x if self.project is None else mask.apply(self.project, x)

    def attention(self, queries: Tensor, keys: Tensor, present: Tensor) -> Tensor:
        """[S, Q, D] and [S, L, D] → [S, Q, L], whose rows sum to 1. present: [S, L]."""
        scores = queries @ keys.transpose(1, 2) * self.temperature
        return scores.masked_fill(~present[:, None], -math.inf).softmax(dim=2)


def swapped(x: Tensor) -> Tensor:
    """[S, ...] → [S, ...] the other text of each pair."""
    return x.roll(len(x) // 2, 0)


class SimpleFusion(nn.Module):
    """A unit and its aligned vector, concatenated."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.linear = make_linear(2 * width, hidden)

    def forward(self, x: Tensor, aligned: Tensor) -> Tensor:
        """Each [R, D] → [R, hidden]."""
        return gelu(self.linear(torch.cat([x, aligned], dim=1)))


class FullFusion(nn.Module):
    """Three comparisons of a unit and its aligned vector (equation 4): G₁([x; a]), G₂([x; x − a])
    and G₃([x; x ∘ a]), and a layer over them."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.beside = make_linear(2 * width, hidden)
        self.difference = make_linear(2 * width, hidden)
        self.product = make_linear(2 * width, hidden)
        self.join = make_linear(3 * hidden, hidden)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, aligned: Tensor) -> Tensor:
        """Each [R, D] → [R, hidden]."""
        both, product = torch.cat([x, aligned], dim=1), torch.cat([x, x * aligned], dim=1)
        # [x; x − a] times (U, V) is [x; a] times (U + V, −V).
        U, V = self.difference.weight.chunk(2, dim=1)
        weights = torch.cat([self.beside.weight, torch.cat([U + V, -V], dim=1)])
        biases = torch.cat([self.beside.bias, self.difference.bias])
        compared = linear(both, weights, biases), self.product(product)
        return gelu(self.join(torch.cat([self.dropout(gelu(each)) for each in compared], dim=1)))


class Prediction(nn.Module):
    """From the vectors of both texts to the classes, or to the score (equation 5)."""

    def __init__(self, options: RE2Options, n_outputs: int) -> None:
        super().__init__()
        self.kind = options.prediction
        n_parts = {"symmetric": 3, "full": 4, "simple": 2}[self.kind]
        self.compare = make_linear(n_parts * options.hidden, options.hidden)
        self.classify = make_linear(options.hidden, n_outputs, activated=False)
        self.dropout = Dropout(options.dropout)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Each [B, D] → [B, K]."""
        compared = gelu(self.compare(self.dropout(self._features(left, right))))
        outputs: Tensor = self.classify(self.dropout(compared))
        return outputs

    def _features(self, left: Tensor, right: Tensor) -> Tensor:
        if self.kind == "symmetric":
            parts = [left + right, (left - right).abs(), left * right]
        elif self.kind == "full":
            parts = [left, right, left - right, left * right]
        else:
            parts = [left, right]
        return torch.cat(parts, dim=1)


def make_linear(n_in: int, n_out: int, *, activated: bool = True) -> Linear:
    """A linear layer with weight normalisation, initialised after He et al. (2015)."""
    layer = Linear(n_in, n_out)
    _initialise(layer, n_in, activated)
    weight_norm(layer)
    return layer


def make_convolution(n_in: int, n_out: int, size: int) -> nn.Conv1d:
    """A convolution with weight normalisation; see `convolve`."""
    convolution = nn.Conv1d(n_in, n_out, size)
    _initialise(convolution, n_in * size, activated=True)
    weight_norm(convolution)
    return convolution


def _initialise(layer: nn.Linear | nn.Conv1d, fan_in: int, activated: bool) -> None:
    nn.init.normal_(layer.weight, std=math.sqrt((2 if activated else 1) / fan_in))
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
