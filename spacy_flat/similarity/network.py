"""RE2 (Yang et al., ACL 2019) as a plain torch module.

Units of texts are rows, see `batch.py`: linear layers and convolutions compute all units of all
texts at once, without padding.

Shapes: T rows of texts, B pairs, R rows of pairs, L units of the longest text, S units that a
convolution sees, D width, K classes.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import gelu
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.checkpoint import checkpoint

from ..nn.layers import Dropout, Linear, linear
from ..nn.network import EmbeddingNetwork, PretrainedEmbedding, Sizes
from ..util.arrays import Ints
from .batch import Comparison, KnownRows, PairBatch, TextRows
from .options import RE2Options

MOST_WEIGHTS = 1 << 22  # attention weights computed at once


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

        upstream: [units, W] other vectors of all units of the texts, such as a tok2vec's.
        """
        return self.compare(self.encode(batch.texts, upstream), batch.comparison)

    def encode(self, texts: TextRows, upstream: Tensor | None = None) -> Tensor:
        """Encode texts independently of each other: [T, D] embeddings, and outputs of the first
        encoder."""
        embedded = self.embed(texts.keys, upstream)
        return self.first.beside_encoding(embedded, self.to_tensor(texts.windows))

    def compare_known(self, query: Tensor, known: KnownRows, comparison: Comparison) -> Tensor:
        """Compare a text, [T, D] as `encode` returns, with texts encoded before: [B, K].

        comparison: of the rows of the query, followed by those of the others.
        """
        vectors = None if known.upstream is None else self.to_tensor(known.upstream).float()
        embedded = self.embed(known.keys, vectors)
        encoded = torch.cat([embedded, self.to_tensor(known.encoded)], dim=1)
        return self.compare(torch.cat([query, encoded]), comparison)

    def embed(self, keys: Iterable[Ints], upstream: Tensor | None) -> Tensor:
        """[T, D] embeddings. keys: [T] of characters, bigrams and words."""
        tables = (self.chars, self.bigrams, self.words)
        parts = [
            table(self.keys(own))
            for table, own in zip(tables, keys, strict=True)
            if table is not None
        ]
        if upstream is not None:
            n_spare = len(parts[0]) - len(upstream)
            parts.append(nn.functional.pad(upstream, (0, 0, 0, n_spare)))
        embedded: Tensor = self.embed_dropout(beside(parts))
        return embedded

    def compare(self, encoded: Tensor, comparison: Comparison) -> Tensor:
        """encoded: [T, D] as `encode` returns. Returns [B, K]."""
        pairs = self.pairs(comparison)
        outputs = self.read(nn.functional.embedding(pairs.sources, encoded), pairs)
        logits: Tensor = self.predict(pairs.left.largest(outputs), pairs.right.largest(outputs))
        return logits

    def alignments(self, encoded: Tensor, comparison: Comparison) -> list[tuple[Tensor, Tensor]]:
        """The attention of each block: [B, L, L'] of the left texts' units, and [B, L', L] of the
        right texts'."""
        pairs = self.pairs(comparison)
        found: list[tuple[Tensor, Tensor]] = []
        self.read(nn.functional.embedding(pairs.sources, encoded), pairs, found)
        return found

    def read(
        self,
        x: Tensor,
        pairs: "Pairs",
        alignments: list[tuple[Tensor, Tensor]] | None = None,
    ) -> Tensor:
        """Apply the blocks: [R, D] encoded rows of pairs → [R, D].

        alignments: collects those of each block.
        """
        embedded = entering = x[:, : self.embed_width]
        outputs: list[Tensor] = []
        for block in self.blocks:
            assert isinstance(block, Block)
            if outputs:
                entering = self.connect(embedded, entering, outputs)
                x = block.beside_encoding(entering, pairs.windows)
            if alignments is not None:
                alignments.append(block.alignment.weights(x, pairs))
            outputs.append(block.fusion(x, block.alignment(x, pairs)))
        return outputs[-1]

    def connect(self, embedded: Tensor, entered: Tensor, outputs: Sequence[Tensor]) -> Tensor:
        """The input of the next block (section 2.1 of the paper).

        embedded: [R, D]; entered: [R, D] the input of the last block; outputs: [R, D] of each block
        before.
        """
        if self.options.connection == "none":
            return outputs[-1]
        scale = math.sqrt(0.5) if self.options.scaled_connection else 1.0
        if self.options.connection == "residual":
            if self.widen is not None and len(outputs) == 1:
                entered = self.widen(entered)
            return (outputs[-1] + entered) * scale
        total = outputs[-1] if len(outputs) == 1 else (outputs[-1] + outputs[-2]) * scale
        return torch.cat([embedded, total], dim=1)

    def pairs(self, comparison: Comparison) -> "Pairs":
        """A comparison on the device of the network."""
        sides = (
            SideTensors(self.to_tensor(side.rows), self.to_tensor(side.present))
            for side in (comparison.left, comparison.right)
        )
        arrays = (comparison.sources, comparison.windows, comparison.places)
        sources, windows, places = map(self.to_tensor, arrays)
        return Pairs(sources, windows, places, *sides)

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


@dataclass(frozen=True)
class SideTensors:
    """`SideRows` on the network's device."""

    rows: Tensor
    present: Tensor

    def pad(self, x: Tensor) -> Tensor:
        """[R, D] → [B, L, D], a row for each text; padding repeats its first unit."""
        # Its backward pass is faster than that of indexing.
        return nn.functional.embedding(self.rows, x)

    def largest(self, x: Tensor) -> Tensor:
        """[R, D] → [B, D], the maximum over the units of each text."""
        return self.pad(x).amax(dim=1)


@dataclass(frozen=True)
class Pairs:
    """`Comparison` on the network's device: [R] sources, [R, S] windows, [R] places."""

    sources: Tensor
    windows: Tensor
    places: Tensor
    left: SideTensors
    right: SideTensors


class Block(nn.Module):
    """Encoder, alignment and fusion (sections 2.1 to 2.3)."""

    def __init__(self, options: RE2Options, width: int) -> None:
        super().__init__()
        self.encoder = ConvolutionEncoder(options, width)
        both = width + options.hidden
        self.alignment = AlignmentLayer(options, both)
        fusion = FullFusion if options.fusion == "full" else SimpleFusion
        self.fusion = fusion(both, options.hidden, options.dropout)

    def beside_encoding(self, x: Tensor, windows: Tensor) -> Tensor:
        """[R, D] → [R, D + hidden], input and output of the encoder."""
        return torch.cat([x, self.encoder(x, windows)], dim=1)


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

    def forward(self, x: Tensor, windows: Tensor) -> Tensor:
        """[R, D] → [R, hidden]. windows: [R, S] rows, R for an empty one."""
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, nn.ModuleList)
            rows = nn.functional.pad(self.dropout(x) if number else x, (0, 0, 0, 1))
            seen = nn.functional.embedding(windows, rows, padding_idx=len(x))  # [R, S, D]
            x = gelu(beside([convolve(each, seen) for each in layer]))
        out: Tensor = self.dropout(x)
        return out


def beside(parts: list[Tensor]) -> Tensor:
    """[R, ...] parts → [R, D]; one alone is not copied."""
    return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]


def convolve(convolution: nn.Module, seen: Tensor) -> Tensor:
    """[R, S, D] → [R, K]. One of an even size sees one unit more after than before."""
    assert isinstance(convolution, nn.Conv1d)
    size = convolution.kernel_size[0]
    first = seen.shape[1] // 2 - (size - 1) // 2
    weight = convolution.weight.transpose(1, 2).flatten(1)  # [K, size × D]
    return linear(seen[:, first : first + size].flatten(1), weight, convolution.bias)


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

    def forward(self, x: Tensor, pairs: Pairs) -> Tensor:
        """[R, D] → [R, D] aligned vectors."""
        left, right = pairs.left.pad(x), pairs.right.pad(x)
        left_keys, right_keys = self._keys(x, left, right, pairs)
        found = (
            self._attend(left_keys, right_keys, pairs.right.present, right),
            self._attend(right_keys, left_keys, pairs.left.present, left),
        )
        units = torch.cat([values.flatten(0, 1) for values in found])
        return nn.functional.embedding(pairs.places, units)

    def weights(self, x: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """The attention [B, L, L'] of the left texts' units, and [B, L', L] of the right ones'."""
        left, right = self._keys(x, pairs.left.pad(x), pairs.right.pad(x), pairs)
        return (
            self.attention(left, right, pairs.right.present),
            self.attention(right, left, pairs.left.present),
        )

    def _keys(self, x: Tensor, left: Tensor, right: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """[B, L, D] of both sides, to compute the scores. left, right: x [R, D], padded."""
        if self.project is None:
            return left, right
        keys = self.project(x)
        return pairs.left.pad(keys), pairs.right.pad(keys)

    def attention(self, queries: Tensor, keys: Tensor, present: Tensor) -> Tensor:
        """[B, L, D] and [B, L', D] → [B, L, L'], whose rows sum to 1. present: [B, L']."""
        scores = queries @ keys.transpose(1, 2) * self.temperature
        return scores.masked_fill(~present[:, None], -math.inf).softmax(dim=2)

    def _attend(self, queries: Tensor, keys: Tensor, present: Tensor, values: Tensor) -> Tensor:
        """Weighted sums [B, L, D] of values [B, L', D], with at most `MOST_WEIGHTS` weights in
        memory (or those of one unit), in training too."""
        L = queries.shape[1]
        step = max(1, MOST_WEIGHTS // present.numel())
        if step >= L:
            return self.attention(queries, keys, present) @ values

        def part(start: int) -> Tensor:
            return self.attention(queries[:, start : start + step], keys, present) @ values

        starts = range(0, L, step)
        if torch.is_grad_enabled():
            parts = [checkpoint(part, start, use_reentrant=False) for start in starts]
            return torch.cat(parts, dim=1)
        # Parts that stay between large temporary tensors would fragment the memory.
        found = values.new_empty(len(values), L, values.shape[2])
        for start in starts:
            found[:, start : start + step] = part(start)
        return found


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
