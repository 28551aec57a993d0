"""Layers that several networks share: dropout, linear maps, position encodings, Transformers, and
multi-head attention with relative positions, as FLAT and TENER use it.

Shapes of attention: B sequences, Q queries, L keys, H heads, d width of a head, D = H·d; P queries
of a relation.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ..util.arrays import Ints

_LEVELS = 1 << 16

# Below, finding oneDNN's code for a shape costs more than it saves.
MIN_PRODUCTS = 1 << 25

_ONEDNN: bool = torch.backends.mkldnn.is_available() and all(  # type: ignore[no-untyped-call]
    hasattr(torch.ops.mkldnn, name) for name in ("_linear_pointwise", "_reorder_linear_weight")
)

# Queries meet all encodings a few at a time: this many scores, so that they stay in the
# processor's cache and memory does not grow with the batch.
CHUNK = 1 << 20
CHUNK_CUDA = 1 << 26

FLOOR = -1e9  # added to the scores of hidden keys


class Dropout(nn.Module):
    """Zero elements with probability `rate`, scale the others so that the expectation stays.

    On a CPU most of dropout's cost is random numbers. 16 bits an element keep the rate to within
    1 / 65536, so a draw of 64 bits serves four elements. torch's own dropout makes a training step
    of FLAT with ten sentences of 40 characters an eighth slower.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.threshold = round(rate * _LEVELS)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.threshold == 0:
            return x
        if x.device.type != "cpu" or self.threshold == _LEVELS:
            return nn.functional.dropout(x, self.rate)
        draws = torch.empty(x.numel() // 4 + 1, dtype=torch.int64)
        bits = draws.random_(-(2**63), None).view(torch.int16)[: x.numel()].view(x.shape)
        # Numbers at once, scaled in place: half the time of truth values.
        kept = torch.ge(bits, self.threshold - _LEVELS // 2, out=x.new_empty(x.shape))
        return x * kept.mul_(_LEVELS / (_LEVELS - self.threshold))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[R, D] rows times [K, D] → [R, K], as `torch.nn.functional.linear`. On a CPU, large products
    use oneDNN, up to twice as fast as MKL on AMD's processors: without, RE2 takes a third longer.

    weight: [K, D], or what `packed` returned.
    """
    if weight.is_mkldnn:
        return _product(x.contiguous(), weight, bias)
    is_plain = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    if _ONEDNN and is_plain and len(x) * weight.numel() >= MIN_PRODUCTS:
        found: Tensor = _Linear.apply(x.contiguous(), weight.contiguous(), bias)  # type: ignore[no-untyped-call]
        return found
    return nn.functional.linear(x, weight, bias)


@torch.no_grad()
def packed(weight: Tensor) -> Tensor:
    """A weight [K, D] for repeated calls of `linear` without gradients: in oneDNN's own layout, so
    that no call copies it; unchanged without oneDNN, which makes generating a tenth slower."""
    if not _ONEDNN or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return weight
    found: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight)
    return found


class Linear(nn.Linear):
    """`torch.nn.Linear` for rows [R, D]."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous()  # oneDNN is slow with parts of wider rows
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            _product(gradient, weight.T) if of_x else None,
            _product(gradient.T, x.T) if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


def sinusoids(distances: Tensor, width: int) -> Tensor:
    """Encode signed distances as sines and cosines (Vaswani et al., 2017, section 3.5).

    The first half of the encoding holds the sines, the second half the cosines, as in the
    released code of TENER and FLAT. An odd width ends with a zero.

    distances: [N] whole numbers of any size and sign.
    Returns [N, width], float32.
    """
    half = width // 2
    rates = torch.exp(
        torch.arange(half, device=distances.device) * (-math.log(10000.0) / max(half - 1, 1))
    )
    angles = distances.to(torch.float32)[:, None] * rates
    return nn.functional.pad(torch.cat([angles.sin(), angles.cos()], dim=1), (0, width % 2))


class Positions(nn.Module):
    """Encodings of the distances from -reach to reach, for any reach."""

    cache: Tensor  # [2 * reach + 1, D], the sinusoids made so far

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("cache", torch.zeros(0, width), persistent=False)

    def forward(self, reach: int) -> Tensor:
        """Returns [2 * reach + 1, D]: row `reach + distance` encodes `distance`."""
        cache = self.cache  # read once: another thread may replace it
        if len(cache) <= 2 * reach:
            # Doubling keeps recomputations rare over a stream of texts.
            farthest = max(64, 2 * reach)
            distances = torch.arange(-farthest, farthest + 1, device=cache.device)
            self.cache = cache = sinusoids(distances, self.width).to(cache.dtype)
        middle = len(cache) // 2
        return cache[middle - reach : middle + reach + 1]


class TransformerLayer(nn.Module):
    """Attention and feed-forward, each before a normalisation (Vaswani et al., 2017).

    attention: attention(nodes [B, L, D], n_queries, …) → [B, Q, D]; the first Q nodes are queries.
    ff: the feed-forward layer is this many times as wide.
    residual: False omits a sublayer's input: LayerNorm(sublayer(x)).
    """

    def __init__(
        self, attention: nn.Module, width: int, *, ff: int, dropout: float, residual: bool = True
    ) -> None:
        super().__init__()
        self.attention = attention
        self.residual = residual
        self.attention_norm = nn.LayerNorm(width)
        self.ff = nn.Sequential(
            nn.Linear(width, ff * width),
            nn.ReLU(),
            Dropout(dropout),
            nn.Linear(ff * width, width),
            Dropout(dropout),
        )
        self.ff_norm = nn.LayerNorm(width)

    def forward(self, nodes: Tensor, n_queries: int, *context: Any) -> Tensor:
        """[B, L, D] → [B, Q, D]. context: what else the attention takes."""
        queries = nodes[:, :n_queries]
        attended = self.attention(nodes, n_queries, *context)
        x = self.attention_norm(queries + attended if self.residual else attended)
        fed = self.ff(x)
        return self.ff_norm(x + fed if self.residual else fed)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Relation:
    """How some queries relate to all keys. A pair's encoding depends only on the distance of the
    heads and the kind of the key (in FLAT, its length).

    encodings: [H or 1, d, S, N] of S kinds of keys and N = 2R + 1 distances, the one at R being 0.
    heads: [P] positions of these queries' heads in the text, ascending.
    rows: [P] which of the B·L nodes they are; None for the first P nodes of each sequence.
    key_heads, key_kinds: [B or 1, L].
    """

    encodings: Tensor
    heads: Ints
    rows: Tensor | None
    key_heads: Tensor
    key_kinds: Tensor

    @classmethod
    def of_positions(cls, table: Tensor) -> "Relation":
        """Of all units of a sequence to each other (TENER's R).

        table: [2C - 1, d] encodings of the distances from 1 - C to C - 1, the same for all heads.
        """
        C = (len(table) + 1) // 2
        positions = torch.arange(C, device=table.device)[None]
        encodings = table.T[None, :, None]
        return cls(encodings, np.arange(C), None, positions, torch.zeros_like(positions))

    def picks(self, queries: slice, distances: slice) -> Tensor:
        """[B or 1, queries, L] each pair's encoding, numbered by S kinds × these distances."""
        width = distances.stop - distances.start
        heads = torch.from_numpy(self.heads[queries]).to(self.key_heads.device)
        offsets = heads + (self.encodings.shape[3] // 2 - distances.start)
        keys = self.key_kinds * width - self.key_heads
        if self.rows is None:
            keys = keys[:, None]
        else:
            keys = keys[self.rows[queries] // keys.shape[1]][None]
        picks: Tensor = keys + offsets[:, None]
        return picks


class RelativeAttention(nn.Module):
    """Attention whose scores have a content and a relative term (Dai et al., 2019, section 3.3;
    FLAT equation 11; TENER equation 16)::

        score(i, j) = (q_i + u) · k_j + (q_i + v) · r_ij

    where r_ij, the encoding of the relation of i to j, comes from outside, and u and v are
    learnt, one of each for each head. Without `k_proj` the keys are the nodes themselves, as the
    papers have it. `scaled` divides the scores by √d.
    """

    def __init__(
        self, num_heads: int, head_dim: int, *, k_proj: bool = False, scaled: bool = False
    ) -> None:
        super().__init__()
        width = num_heads * head_dim
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.scale = head_dim**-0.5 if scaled else 1.0
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width) if k_proj else nn.Identity()
        self.v_proj = nn.Linear(width, width)
        self.u = nn.Parameter(torch.zeros(num_heads, head_dim))
        self.v = nn.Parameter(torch.zeros(num_heads, head_dim))

    def forward(
        self, nodes: Tensor, n_queries: int, relations: Sequence[Relation], visible: Tensor
    ) -> Tensor:
        """Let the first Q nodes of every sequence look at all L of them.

        nodes: [B, L, D].
        relations: together they cover every query that matters.
        visible: [B or 1, Q or 1, L] bool: may this query see this key.
        Returns [B, Q, D].
        """
        B, _, D = nodes.shape
        q = split_heads(self.q_proj(nodes[:, :n_queries]), self.num_heads)  # [H, B, Q, d]
        k = split_heads(self.k_proj(nodes), self.num_heads)  # [H, B, L, d]
        v = split_heads(self.v_proj(nodes), self.num_heads)
        u_bias, v_bias = self.u[:, None, None], self.v[:, None, None]
        if self.scale != 1.0:
            q, u_bias, v_bias = (each * self.scale for each in (q, u_bias, v_bias))
        scores = relative_scores(q + v_bias, relations)  # [H, B, Q, L]
        scores = scores.flatten(0, 1)
        scores.baddbmm_((q + u_bias).flatten(0, 1), k.transpose(2, 3).flatten(0, 1))
        # A query that sees nothing (padding) must not turn into NaN: a finite floor, not -inf.
        # Adding a floor takes a tenth of the time of filling it in.
        scores = scores.view(self.num_heads, B, n_queries, -1)
        scores += torch.where(visible, 0.0, FLOOR)
        mixed = scores.softmax(dim=-1) @ v
        return mixed.permute(1, 2, 0, 3).reshape(B, n_queries, D)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """[B, n, D] → [H, B, n, d]."""
    return x.view(*x.shape[:2], num_heads, -1).permute(2, 0, 1, 3)


def relative_scores(queries: Tensor, relations: Sequence[Relation]) -> Tensor:
    """Score queries [H, B, Q, d] against the encodings of their relations to all keys, without an
    array of the encodings of all pairs: [H, B, Q, L].

    Few encodings are distinct. Neighbouring queries are multiplied at once with all that they can
    need, then each pair picks its score.
    """
    first = relations[0]
    if first.rows is None:
        return _scores_of(queries, first)
    H, B, Q, _ = queries.shape
    flat = queries.flatten(1, 2)
    scores = flat.new_zeros(H, B * Q, Q)
    for relation in relations:
        assert relation.rows is not None
        part = _scores_of(flat[:, None, relation.rows], relation)[:, 0]
        scores = scores.index_copy(1, relation.rows, part)
    return scores.view(H, B, Q, Q)


def _scores_of(queries: Tensor, relation: Relation) -> Tensor:
    """Queries [H, G, P, d] of one relation → [H, G, P, L]; G is 1 or B."""
    encodings = relation.encodings.expand(len(queries), -1, -1, -1)
    scores: Tensor = _PickScores.apply(queries, encodings, relation)  # type: ignore[no-untyped-call]
    return scores


class _PickScores(torch.autograd.Function):
    """The scores of all queries against all encodings never exist as a whole, nor do gradients."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, encodings: Tensor, relation: Relation) -> Tensor:
        ctx.save_for_backward(queries, encodings)
        ctx.relation = relation
        H, G, P, _ = queries.shape
        scores = queries.new_empty(H, G, P, relation.key_heads.shape[1])
        for rows, distances in _chunks(queries, relation):
            some = queries[:, :, rows].flatten(1, 2)
            products = some @ encodings[..., distances].flatten(2)
            picks = relation.picks(rows, distances).expand(H, G, -1, -1)
            torch.gather(products.view(*picks.shape[:3], -1), 3, picks, out=scores[:, :, rows])
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_scores: Tensor) -> tuple[Tensor, Tensor | None, None]:
        queries, encodings = ctx.saved_tensors
        H, G = queries.shape[:2]
        d_queries = torch.empty_like(queries, memory_format=torch.contiguous_format)
        d_encodings = None
        if ctx.needs_input_grad[1]:
            d_encodings = torch.zeros_like(encodings, memory_format=torch.contiguous_format)
        for rows, distances in _chunks(queries, ctx.relation):
            some, some_encodings = queries[:, :, rows], encodings[..., distances]
            picks = ctx.relation.picks(rows, distances).expand(H, G, -1, -1)
            d_products = queries.new_zeros(*some.shape[:3], some_encodings[0, 0].numel())
            d_products.scatter_add_(3, picks, d_scores[:, :, rows])
            d_products = d_products.flatten(1, 2)
            d_some = d_products @ some_encodings.flatten(2).transpose(1, 2)
            d_queries[:, :, rows] = d_some.view_as(some)
            if d_encodings is not None:
                d_distances = some.flatten(1, 2).transpose(1, 2) @ d_products
                d_encodings[..., distances] += d_distances.view_as(some_encodings)
        return d_queries, d_encodings, None


def _chunks(queries: Tensor, relation: Relation) -> Iterator[tuple[slice, slice]]:
    """Cut the P queries so that a chunk has at most about CHUNK scores: the queries, and the
    distances that they can need."""
    H, G, P, _ = queries.shape
    kinds, n_distances = relation.encodings.shape[2:]
    heads, reach = relation.heads, (n_distances + 1) // 2  # keys' heads lie in [0, reach)
    scores = H * G * P * kinds * (int(heads[-1] - heads[0]) + reach)
    n_chunks = min(P, -(-scores // (CHUNK_CUDA if queries.is_cuda else CHUNK)))
    bounds = np.linspace(0, P, n_chunks + 1).astype(int).tolist()
    for start, stop in pairwise(bounds):
        yield slice(start, stop), slice(int(heads[start]), int(heads[stop - 1]) + reach)
