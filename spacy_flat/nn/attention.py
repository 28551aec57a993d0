"""Multi-head attention with relative positions, as FLAT and TENER use it.

Shapes: B sequences, Q queries, L keys, H heads, d width of a head, D = H·d.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .dropout import Dropout

# Queries meet all encodings a few at a time: this many scores, so that they stay in the
# processor's cache and memory does not grow with the batch.
CHUNK = 1 << 20
CHUNK_CUDA = 1 << 26


@dataclass(frozen=True)
class Relation:
    """How some of the queries stand to all keys, where the distance of their heads and the kind
    of the key (in FLAT its length) decide about a pair.

    encodings: [H or 1, d, S, N] of S kinds of keys and N = 2R + 1 distances, the one at R being 0.
    heads: [n] places of these queries' heads in the text, in ascending order.
    segments: [n] which of the B sequences each is in.
    rows: [n] which of the B·Q queries they are; None for all queries, ordered by place in the
        text and then by sequence.
    key_heads, key_kinds: [B, L].
    """

    encodings: Tensor
    heads: NDArray[np.int64]
    segments: Tensor
    rows: Tensor | None
    key_heads: Tensor
    key_kinds: Tensor


class RelativeAttention(nn.Module):
    """Attention whose scores have a content and a relative term (Dai et al., 2019, section 3.3;
    FLAT equation 11; TENER equation 16)::

        score(i, j) = (q_i + u) · k_j + (q_i + v) · r_ij

    where r_ij, the encoding of the relation of i to j, comes from outside, and u and v are
    learnt, one of each for each head. Without `k_proj` the keys are the nodes themselves, as the
    papers have it. `scaled` divides the scores by √d. `attn_ff` adds an output projection.
    """

    def __init__(
        self,
        heads: int,
        head_dim: int,
        *,
        q_proj: bool = True,
        k_proj: bool = False,
        v_proj: bool = True,
        scaled: bool = False,
        attn_ff: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        width = heads * head_dim
        self.heads = heads
        self.head_dim = head_dim
        self.scale = head_dim**-0.5 if scaled else 1.0
        self.q_proj = nn.Linear(width, width) if q_proj else nn.Identity()
        self.k_proj = nn.Linear(width, width) if k_proj else nn.Identity()
        self.v_proj = nn.Linear(width, width) if v_proj else nn.Identity()
        self.out = nn.Linear(width, width) if attn_ff else nn.Identity()
        self.u = nn.Parameter(torch.zeros(heads, head_dim))
        self.v = nn.Parameter(torch.zeros(heads, head_dim))
        self.dropout = Dropout(dropout)

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
        q = self._split(self.q_proj(nodes[:, :n_queries])) * self.scale  # [H, B, Q, d]
        k = self._split(self.k_proj(nodes))  # [H, B, L, d]
        v = self._split(self.v_proj(nodes))
        u_bias, v_bias = (bias[:, None, None] * self.scale for bias in (self.u, self.v))
        scores = (q + u_bias) @ k.transpose(2, 3)  # [H, B, Q, L]
        scores += self._relative(q + v_bias, relations)
        # A query that sees nothing (padding) must not turn into NaN: a finite floor, not -inf.
        weights = self.dropout(scores.masked_fill_(~visible, -1e4).softmax(dim=-1))
        mixed = (weights @ v).permute(1, 2, 0, 3).reshape(B, n_queries, D)
        out: Tensor = self.out(mixed)
        return out

    def _split(self, x: Tensor) -> Tensor:
        B, n, _ = x.shape
        return x.view(B, n, self.heads, self.head_dim).permute(2, 0, 1, 3)

    def _relative(self, queries: Tensor, relations: Sequence[Relation]) -> Tensor:
        """[H, B, Q, d] → [H, B, Q, L]."""
        H, B, Q, d = queries.shape
        first = relations[0]
        L = first.key_heads.shape[1]
        if first.rows is None:
            by_place = queries.transpose(1, 2).reshape(H, Q * B, d)
            return pick_scores(by_place, first).view(H, Q, B, L).transpose(1, 2)
        flat = queries.reshape(H, B * Q, d)
        scores = flat.new_zeros(H, B * Q, L)
        for relation in relations:
            assert relation.rows is not None
            part = pick_scores(flat[:, relation.rows], relation)
            scores = scores.index_copy(1, relation.rows, part)
        return scores.view(H, B, Q, L)


def pick_scores(queries: Tensor, relation: Relation) -> Tensor:
    """Score queries [H, n, d], ordered as in the relation, against the encodings of their pairs.

    A pair's encoding depends on its distances alone, so there are few distinct ones: neighbouring
    queries meet all that they can need in one matrix product, then each pair picks its score.

    Returns [H, n, L].
    """
    scores: Tensor = _PickScores.apply(  # type: ignore[no-untyped-call]
        queries, relation.encodings.expand(len(queries), -1, -1, -1), relation
    )
    return scores


@dataclass(frozen=True)
class _Chunk:
    """Queries [rows] and the slice of distances that they can need."""

    rows: slice
    distances: slice
    first_head: int

    def picks(self, relation: Relation) -> Tensor:
        """[n, L] the number of each pair's encoding among those of the slice."""
        width = self.distances.stop - self.distances.start
        heads = torch.from_numpy(relation.heads[self.rows]).to(relation.key_heads.device)
        # Distance 0 of the first head stands `highest` places behind the slice's start.
        keys = relation.key_kinds * width - relation.key_heads
        highest = (relation.encodings.shape[3] - 1) // 2
        offsets = heads + (highest - self.distances.start)
        picks: Tensor = keys[relation.segments[self.rows]] + offsets[:, None]
        return picks


class _PickScores(torch.autograd.Function):
    """The scores of all queries against all encodings never exist as a whole, in neither
    direction."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, encodings: Tensor, relation: Relation) -> Tensor:
        ctx.save_for_backward(queries, encodings)
        ctx.relation = relation
        H, n, _ = queries.shape
        scores = queries.new_empty(H, n, relation.key_heads.shape[1])
        for chunk in _chunks(queries, relation):
            products = queries[:, chunk.rows] @ encodings[..., chunk.distances].flatten(2)
            picks = chunk.picks(relation).expand(H, -1, -1)
            torch.gather(products, 2, picks, out=scores[:, chunk.rows])
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_scores: Tensor) -> tuple[Tensor, Tensor, None]:
        queries, encodings = ctx.saved_tensors
        H = len(queries)
        d_queries = torch.empty_like(queries)
        d_encodings = torch.zeros_like(encodings, memory_format=torch.contiguous_format)
        for chunk in _chunks(queries, ctx.relation):
            some = encodings[..., chunk.distances]
            picks = chunk.picks(ctx.relation).expand(H, -1, -1)
            d_products = queries.new_zeros(H, picks.shape[1], some.shape[2] * some.shape[3])
            d_products.scatter_add_(2, picks, d_scores[:, chunk.rows])
            torch.bmm(d_products, some.flatten(2).transpose(1, 2), out=d_queries[:, chunk.rows])
            d_some = queries[:, chunk.rows].transpose(1, 2) @ d_products
            d_encodings[..., chunk.distances] += d_some.view_as(some)
        return d_queries, d_encodings, None


def _chunks(queries: Tensor, relation: Relation) -> Iterator[_Chunk]:
    """Cut the queries so that a chunk has about CHUNK scores; at least those of one head."""
    H = len(queries)
    limit = CHUNK_CUDA if queries.is_cuda else CHUNK
    heads = relation.heads
    kinds, n_distances = relation.encodings.shape[2:]
    reach = (n_distances + 1) // 2  # places that a key's head can have
    start = 0
    while start < len(heads):
        first = int(heads[start])
        stop = start
        while stop < len(heads):
            following = int(np.searchsorted(heads, heads[stop], "right"))
            width = int(heads[stop]) - first + reach
            if stop > start and H * (following - start) * kinds * width > limit:
                break
            stop = following
        last = int(heads[stop - 1])
        # Keys' heads lie in [0, reach): distances from first - (reach - 1) to last.
        yield _Chunk(slice(start, stop), slice(first, last + reach), first)
        start = stop
