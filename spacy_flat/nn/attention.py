"""Multi-head attention: with relative positions, as FLAT and TENER use it, and without.

Shapes: B sequences, Q queries, L keys, H heads, d width of a head, D = H·d; P queries of a group,
G of them at each place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ..util.arrays import Ints
from .layers import Dropout

# Queries meet all encodings a few at a time: this many scores, so that they stay in the
# processor's cache and memory does not grow with the batch.
CHUNK = 1 << 20
CHUNK_CUDA = 1 << 26
SHIFTED = 64  # queries at a time whose distances are so many more than there are keys

FLOOR = -1e9  # added to the scores of hidden keys


class RelativeTerm(Protocol):
    """The encodings of the relations of all pairs, without an array of them."""

    def scores(self, queries: Tensor) -> Tensor:
        """Queries [H, B, Q, d] times the encodings of their relations to all keys:
        [H, B, Q, L]."""


@dataclass(frozen=True)
class Relation:
    """The relation of some queries to all keys. A pair's encoding depends only on the distance of
    the heads and the kind of the key (in FLAT, its length).

    encodings: [H or 1, d, S, N] of S kinds of keys and N = 2R + 1 distances, the one at R being 0.
    heads: [P] places of these queries' heads in the text, in ascending order.
    sequences: [G, P] which of the B sequences each is in.
    rows: [P] which of the B·Q queries they are (G = 1); None for all queries (G = B, P = Q).
    key_heads, key_kinds: [B, L].
    """

    encodings: Tensor
    heads: Ints
    sequences: Tensor
    rows: Tensor | None
    key_heads: Tensor
    key_kinds: Tensor


@dataclass(frozen=True)
class PickedTerm:
    """FLAT's: encodings of few distinct relations, picked by each pair.

    relations: together they cover every query that matters.
    """

    relations: Sequence[Relation]

    def scores(self, queries: Tensor) -> Tensor:
        """As `RelativeTerm.scores`."""
        first = self.relations[0]
        if first.rows is None:
            return pick_scores(queries, first)
        H, B, Q, _ = queries.shape
        flat = queries.flatten(1, 2)
        scores = flat.new_zeros(H, B * Q, first.key_heads.shape[1])
        for relation in self.relations:
            assert relation.rows is not None
            part = pick_scores(flat[:, None, relation.rows], relation)[:, 0]
            scores = scores.index_copy(1, relation.rows, part)
        return scores.view(H, B, Q, -1)


@dataclass(frozen=True)
class ShiftedTerm:
    """Encodings of the distances of places, i - j for query i and key j: TENER's R.

    table: [2C - 1, d] the encodings of the distances from 1 - C to C - 1, the same for all heads.
        They are constants: no gradient flows back into them.
    """

    table: Tensor

    def scores(self, queries: Tensor) -> Tensor:
        """As `RelativeTerm.scores`, with Q = L = C."""
        scores: Tensor = _ShiftScores.apply(queries, self.table)  # type: ignore[no-untyped-call]
        return scores


class RelativeAttention(nn.Module):
    """Attention whose scores have a content and a relative term (Dai et al., 2019, section 3.3;
    FLAT equation 11; TENER equation 16)::

        score(i, j) = (q_i + u) · k_j + (q_i + v) · r_ij

    where r_ij, the encoding of the relation of i to j, comes from outside, and u and v are
    learnt, one of each for each head. Without `k_proj` the keys are the nodes themselves, as the
    papers have it. `scaled` divides the scores by √d. `attn_ff` adds an output projection.
    `key_positions` adds k_j · r_ji, as a later release of TENER does.
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        q_proj: bool = True,
        k_proj: bool = False,
        v_proj: bool = True,
        scaled: bool = False,
        attn_ff: bool = False,
        key_positions: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        width = num_heads * head_dim
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.key_positions = key_positions
        self.scale = head_dim**-0.5 if scaled else 1.0
        self.q_proj = nn.Linear(width, width) if q_proj else nn.Identity()
        self.k_proj = nn.Linear(width, width) if k_proj else nn.Identity()
        self.v_proj = nn.Linear(width, width) if v_proj else nn.Identity()
        self.out = nn.Linear(width, width) if attn_ff else nn.Identity()
        self.u = nn.Parameter(torch.zeros(num_heads, head_dim))
        self.v = nn.Parameter(torch.zeros(num_heads, head_dim))
        self.dropout = Dropout(dropout)

    def forward(self, nodes: Tensor, n_queries: int, term: RelativeTerm, visible: Tensor) -> Tensor:
        """Let the first Q nodes of every sequence look at all L of them.

        nodes: [B, L, D].
        term: with `key_positions` of Q = L.
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
        scores = term.scores(q + v_bias)  # [H, B, Q, L]
        if self.key_positions:
            scores = scores + term.scores(k * self.scale).transpose(2, 3)
        scores = scores.flatten(0, 1)
        scores.baddbmm_((q + u_bias).flatten(0, 1), k.transpose(2, 3).flatten(0, 1))
        # A query that sees nothing (padding) must not turn into NaN: a finite floor, not -inf.
        # Adding a floor takes a tenth of the time of filling it in.
        scores = scores.view(self.num_heads, B, n_queries, -1)
        scores += torch.where(visible, 0.0, FLOOR)
        mixed = self.dropout(scores.softmax(dim=-1)) @ v
        out: Tensor = self.out(mixed.permute(1, 2, 0, 3).reshape(B, n_queries, D))
        return out


class DotProductAttention(nn.Module):
    """Multi-head attention without positions (Vaswani et al., 2017, section 3.2)."""

    def __init__(self, num_heads: int, head_dim: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        width = num_heads * head_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, nodes: Tensor, n_queries: int, visible: Tensor) -> Tensor:
        """Let the first Q nodes of every sequence look at all L of them.

        nodes: [B, L, D]. visible: [B or 1, Q or 1, L] bool: may this query see this key; each
        query sees one.
        Returns [B, Q, D].
        """
        mixed = dot_product_attention(
            *(self.q_proj(nodes[:, :n_queries]), self.k_proj(nodes), self.v_proj(nodes), visible),
            num_heads=self.num_heads,
            dropout=self.dropout if self.training else 0.0,
        )
        out: Tensor = self.out(mixed)
        return out


def dot_product_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    visible: Tensor | None,
    *,
    num_heads: int,
    dropout: float = 0.0,
) -> Tensor:
    """Projected queries [B, Q, D], keys and values [B, L, D] → [B, Q, D].

    visible: [B or 1, Q or 1, L] bool: may this query see this key; None if it sees all.
    """
    # [B, H, n, d] is faster than the result of `split_heads`.
    q, k, v = (x.view(*x.shape[:2], num_heads, -1).transpose(1, 2) for x in (queries, keys, values))
    mask = None if visible is None else visible[:, None]
    mixed = nn.functional.scaled_dot_product_attention(q, k, v, mask, dropout)
    return mixed.transpose(1, 2).flatten(2)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """[B, n, D] → [H, B, n, d]."""
    B, n, D = x.shape
    return x.view(B, n, num_heads, D // num_heads).permute(2, 0, 1, 3)


def pick_scores(queries: Tensor, relation: Relation) -> Tensor:
    """Score queries [H, G, P, d], ordered as in the relation, against the encodings of their pairs.

    A pair's encoding depends only on its distances, so few are distinct: neighbouring queries are
    multiplied with all that they can need at once, then each pair picks its score.

    Returns [H, G, P, L].
    """
    encodings = relation.encodings.expand(len(queries), -1, -1, -1)
    if not torch.is_grad_enabled():
        return _pick(queries, encodings, relation)
    scores: Tensor = _PickScores.apply(queries, encodings, relation)  # type: ignore[no-untyped-call]
    return scores


def _pick(queries: Tensor, encodings: Tensor, relation: Relation) -> Tensor:
    H, G, P, _ = queries.shape
    scores = queries.new_empty(H, G, P, relation.key_heads.shape[1])
    for chunk in _chunks(queries, relation):
        some = queries[:, :, chunk.places].flatten(1, 2)
        products = some @ encodings[..., chunk.distances].flatten(2)
        products = products.view(H, G, -1, products.shape[2])
        picks = chunk.picks(relation).expand(H, -1, -1, -1)
        torch.gather(products, 3, picks, out=scores[:, :, chunk.places])
    return scores


@dataclass(frozen=True)
class _Chunk:
    """Queries at some of the P places, and the slice of distances that they can need."""

    places: slice
    distances: slice

    def picks(self, relation: Relation) -> Tensor:
        """[G, places, L] the number of each pair's encoding among those of the slice."""
        width = self.distances.stop - self.distances.start
        heads = torch.from_numpy(relation.heads[self.places]).to(relation.key_heads.device)
        # Distance 0 of the first head is `highest` places after the slice's start.
        keys = relation.key_kinds * width - relation.key_heads
        highest = (relation.encodings.shape[3] - 1) // 2
        offsets = heads + (highest - self.distances.start)
        picks: Tensor = keys[relation.sequences[:, self.places]] + offsets[:, None]
        return picks


class _PickScores(torch.autograd.Function):
    """The scores of all queries against all encodings never exist as a whole, in neither
    direction."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, encodings: Tensor, relation: Relation) -> Tensor:
        ctx.save_for_backward(queries, encodings)
        ctx.relation = relation
        return _pick(queries, encodings, relation)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_scores: Tensor) -> tuple[Tensor, Tensor, None]:
        queries, encodings = ctx.saved_tensors
        H = len(queries)
        d_queries = torch.empty_like(queries, memory_format=torch.contiguous_format)
        d_encodings = torch.zeros_like(encodings, memory_format=torch.contiguous_format)
        for chunk in _chunks(queries, ctx.relation):
            some = queries[:, :, chunk.places]
            some_encodings = encodings[..., chunk.distances]
            picks = chunk.picks(ctx.relation).expand(H, -1, -1, -1)
            d_products = queries.new_zeros(*some.shape[:3], some_encodings[0, 0].numel())
            d_products.scatter_add_(3, picks, d_scores[:, :, chunk.places])
            d_products = d_products.flatten(1, 2)
            d_some = d_products @ some_encodings.flatten(2).transpose(1, 2)
            d_queries[:, :, chunk.places] = d_some.view_as(some)
            d_distances = some.flatten(1, 2).transpose(1, 2) @ d_products
            d_encodings[..., chunk.distances] += d_distances.view_as(some_encodings)
        return d_queries, d_encodings, None


def _chunks(queries: Tensor, relation: Relation) -> Iterator[_Chunk]:
    """Cut the places so that a chunk has about CHUNK scores; at least those of one place."""
    H, G, P, _ = queries.shape
    limit = CHUNK_CUDA if queries.is_cuda else CHUNK
    heads = relation.heads
    kinds, n_distances = relation.encodings.shape[2:]
    reach = (n_distances + 1) // 2  # places that a key's head can have
    start = 0
    lowest, highest = int(heads[0]), int(heads[-1])
    if H * G * P * kinds * (highest - lowest + reach) <= limit:
        yield _Chunk(slice(0, P), slice(lowest, highest + reach))
        return
    while start < P:
        first = int(heads[start])
        stop = start
        while stop < P:
            following = int(np.searchsorted(heads, heads[stop], "right"))
            width = int(heads[stop]) - first + reach
            if stop > start and H * G * (following - start) * kinds * width > limit:
                break
            stop = following
        last = int(heads[stop - 1])
        # Keys' heads lie in [0, reach): distances from first - (reach - 1) to last.
        yield _Chunk(slice(start, stop), slice(first, last + reach))
        start = stop


class _ShiftScores(torch.autograd.Function):
    """Row i of the products of queries and distances, moved by i places, is the row of scores: no
    pair needs to be looked up. Some queries at a time, since these meet fewer distances.

    A view does the moving: in a block of n queries and w = C + n - 1 distances, query r meets key j
    in column j - r + n - 1, that is w - 1 numbers further for each r.
    """

    @staticmethod
    def forward(ctx: Any, queries: Tensor, table: Tensor) -> Tensor:
        ctx.save_for_backward(table)
        C = queries.shape[2]
        scores = queries.new_empty(*queries.shape[:3], C)
        for start, stop, encodings in _blocks(table, C):
            products = queries[:, :, start:stop] @ encodings.T
            scores[:, :, start:stop] = _moved(products, C)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_scores: Tensor) -> tuple[Tensor, None]:
        (table,) = ctx.saved_tensors
        H, B, C, _ = d_scores.shape
        d_queries = d_scores.new_empty(H, B, C, table.shape[1])
        for start, stop, encodings in _blocks(table, C):
            d_products = d_scores.new_zeros(H, B, stop - start, len(encodings))
            _moved(d_products, C).copy_(d_scores[:, :, start:stop])
            d_queries[:, :, start:stop] = d_products @ encodings
        return d_queries, None


def _blocks(table: Tensor, C: int) -> Iterator[tuple[int, int, Tensor]]:
    """Queries [start, stop), and the encodings that they meet, [w, d], of falling distances."""
    falling = table.flip(0)
    for start in range(0, C, SHIFTED):
        stop = min(start + SHIFTED, C)
        yield start, stop, falling[C - stop : 2 * C - 1 - start]


def _moved(products: Tensor, C: int) -> Tensor:
    """A view [H, B, n, C] of products [H, B, n, w]."""
    H, B, n, w = products.shape
    strides = (B * n * w, n * w, w - 1, 1)
    return products.as_strided((H, B, n, C), strides, n - 1)
