"""Multi-head attention with relative positions, as FLAT and TENER use it.

Shapes: B batch, Q queries, L keys, H heads, d width of a head, D = H·d, E distinct encodings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

# Scores of queries against all encodings are made a few rows at a time: about this many numbers,
# so that they stay in the processor's cache and memory does not grow with the batch.
CHUNK = 1 << 20
CHUNK_CUDA = 1 << 26


@dataclass(frozen=True)
class Relation:
    """How some of the queries stand to all keys.

    rows: [n] places of these queries among all B·Q, or None for all of them in order.
    encodings: [H or 1, d, E] the distinct encodings of a pair; 1 where heads share them.
    index: [n, L] which encoding each pair of query and key has.
    """

    rows: Tensor | None
    encodings: Tensor
    index: Tensor


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
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, nodes: Tensor, n_queries: int, relations: Sequence[Relation], visible: Tensor
    ) -> Tensor:
        """Let the first Q nodes of every sequence look at all L of them.

        nodes: [B, L, D].
        relations: together they cover every query that matters.
        visible: [B or 1, Q or 1, L] bool: may this query see this key.
        Returns [B, Q, D].
        """
        B, L, D = nodes.shape
        q = self._split(self.q_proj(nodes[:, :n_queries]))  # [H, B, Q, d]
        k = self._split(self.k_proj(nodes))  # [H, B, L, d]
        v = self._split(self.v_proj(nodes))
        scores = (q + self.u[:, None, None]) @ k.transpose(2, 3)  # [H, B, Q, L]
        scores = scores + self._relative(q + self.v[:, None, None], relations, L)
        # A query that sees nothing (padding) must not turn into NaN: a finite floor, not -inf.
        scores = (scores * self.scale).masked_fill(~visible[None], -1e4)
        weights = self.dropout(scores.softmax(dim=-1))
        mixed = (weights @ v).permute(1, 2, 0, 3).reshape(B, n_queries, D)
        out: Tensor = self.out(mixed)
        return out

    def _split(self, x: Tensor) -> Tensor:
        B, n, _ = x.shape
        return x.view(B, n, self.heads, self.head_dim).permute(2, 0, 1, 3)

    def _relative(self, queries: Tensor, relations: Sequence[Relation], L: int) -> Tensor:
        """[H, B, Q, d] → [H, B, Q, L]."""
        H, B, Q, d = queries.shape
        flat = queries.reshape(H, B * Q, d)
        if len(relations) == 1 and relations[0].rows is None:
            only = relations[0]
            return pick_scores(flat, only.encodings, only.index).view(H, B, Q, L)
        scores = flat.new_zeros(H, B * Q, L)
        for relation in relations:
            assert relation.rows is not None
            part = pick_scores(flat[:, relation.rows], relation.encodings, relation.index)
            scores = scores.index_copy(1, relation.rows, part)
        return scores.view(H, B, Q, L)


def pick_scores(queries: Tensor, encodings: Tensor, index: Tensor) -> Tensor:
    """Score queries against the encodings of their pairs.

    A pair's encoding depends on its distances alone, so there are few distinct ones: all
    queries meet all of them in one matrix product, then each pair picks its score.

    queries: [H, n, d]; encodings: [H or 1, d, E]; index: [n, L] into E.
    Returns [H, n, L].
    """
    H, _, d = queries.shape
    scores: Tensor = _PickScores.apply(queries, encodings.expand(H, d, -1), index)
    return scores


class _PickScores(torch.autograd.Function):
    """The [H, n, E] product never exists as a whole, in neither direction."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, encodings: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(queries, encodings, index)
        H, n, _ = queries.shape
        scores = queries.new_empty(H, n, index.shape[1])
        for rows in _chunks(queries, encodings):
            products = queries[:, rows] @ encodings
            picks = index[rows].expand(H, -1, -1)
            torch.gather(products, 2, picks, out=scores[:, rows])
        return scores

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_scores: Tensor) -> tuple[Tensor, Tensor, None]:
        queries, encodings, index = ctx.saved_tensors
        H, n, _ = queries.shape
        d_queries = torch.empty_like(queries)
        d_encodings = torch.zeros_like(encodings, memory_format=torch.contiguous_format)
        for rows in _chunks(queries, encodings):
            picks = index[rows].expand(H, -1, -1)
            d_products = queries.new_zeros(H, picks.shape[1], encodings.shape[2])
            d_products.scatter_add_(2, picks, d_scores[:, rows])
            torch.bmm(d_products, encodings.transpose(1, 2), out=d_queries[:, rows])
            d_encodings.baddbmm_(queries[:, rows].transpose(1, 2), d_products)
        return d_queries, d_encodings, None


def _chunks(queries: Tensor, encodings: Tensor) -> list[slice]:
    H, n, _ = queries.shape
    numbers = CHUNK_CUDA if queries.is_cuda else CHUNK
    size = max(1, numbers // max(1, H * encodings.shape[2]))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
