"""Attention against slow references that loop over all pairs, in float64.

Chunks and blocks are made small, so that every comparison runs over several of them.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from spacy_flat.nn import attention as attention_module
from spacy_flat.nn.attention import (
    DotProductAttention,
    PickedTerm,
    Relation,
    RelativeAttention,
    ShiftedTerm,
)

H, B, d = 2, 3, 4


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


# Relative terms


def make_lattice(C: int, n_words: int) -> tuple[Tensor, Tensor]:
    """Heads and kinds [B, L] of the nodes: C characters of kind 0, then words of kinds 1 and 2."""
    rng = np.random.default_rng(0)
    heads = np.concatenate([np.tile(np.arange(C), (B, 1)), rng.integers(0, C, (B, n_words))], 1)
    kinds = np.concatenate([np.zeros((B, C), int), rng.integers(1, 3, (B, n_words))], 1)
    return torch.from_numpy(heads), torch.from_numpy(kinds)


def relation_of_characters(encodings: Tensor, heads: Tensor, kinds: Tensor) -> PickedTerm:
    C = (encodings.shape[3] + 1) // 2
    sequences = torch.arange(B)[:, None].expand(-1, C)
    return PickedTerm([Relation(encodings, np.arange(C), sequences, None, heads, kinds)])


def relations_of_nodes(encodings: Tensor, heads: Tensor, kinds: Tensor) -> PickedTerm:
    """One relation for the queries of each kind, as FLAT has it; the second's encodings are
    twice and the third's three times the given ones."""
    flat = heads.ravel().numpy()
    relations = []
    for kind in range(3):
        rows = np.flatnonzero(kinds.ravel().numpy() == kind)
        rows = rows[np.argsort(flat[rows], kind="stable")]
        numbers = torch.from_numpy(rows)
        sequences = numbers[None] // heads.shape[1]
        relations.append(
            Relation((kind + 1) * encodings, flat[rows], sequences, numbers, heads, kinds)
        )
    return PickedTerm(relations)


def slow_picked(queries: Tensor, encodings: Tensor, heads: Tensor, kinds: Tensor) -> Tensor:
    """Each pair's encoding is that of the key's kind and the distance of the heads."""
    reach = (encodings.shape[3] - 1) // 2
    encodings = encodings.expand(H, -1, -1, -1)
    n_queries, L = queries.shape[2], heads.shape[1]
    scores = queries.new_zeros(H, B, n_queries, L)
    for h, b, i, j in product(range(H), range(B), range(n_queries), range(L)):
        encoding = encodings[h, :, kinds[b, j], heads[b, i] - heads[b, j] + reach]
        scores[h, b, i, j] = queries[h, b, i] @ encoding * (1 + kinds[b, i])
    return scores


def slow_shifted(queries: Tensor, table: Tensor) -> Tensor:
    C = queries.shape[2]
    scores = queries.new_zeros(H, B, C, C)
    for i, j in product(range(C), range(C)):
        scores[:, :, i, j] = queries[:, :, i] @ table[i - j + C - 1]
    return scores


def gradients(scores: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Of a sum with a different weight for each score."""
    return list(torch.autograd.grad((scores * normal(*scores.shape, seed=9)).sum(), inputs))


def count_chunks(relation: Relation) -> int:
    G, P = relation.sequences.shape
    return len(list(attention_module._chunks(torch.empty(H, G, P, d), relation)))


@pytest.fixture(params=[1, 400, 1 << 20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Scores of a chunk: so few that each place has its own, some, and all in one."""
    size: int = request.param
    monkeypatch.setattr(attention_module, "CHUNK", size)
    return size


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("whole_lattice", [False, True])
def test_picked_term_equals_a_loop_over_pairs(
    chunk: int, whole_lattice: bool, shared: bool
) -> None:
    C, n_words = 7, 5
    heads, kinds = make_lattice(C, n_words)
    queries = normal(H, B, C + n_words * whole_lattice, d).requires_grad_()
    encodings = normal(1 if shared else H, d, 3, 2 * C - 1, seed=1).requires_grad_()
    make = relations_of_nodes if whole_lattice else relation_of_characters
    term = make(encodings, heads, kinds)
    assert (count_chunks(term.relations[0]) > 1) == (chunk < 1 << 20)

    found, expected = term.scores(queries), slow_picked(queries, encodings, heads, kinds)
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(
        gradients(found, [queries, encodings]),
        gradients(expected, [queries, encodings]),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("C", [1, 2, 3, 4, 6, 7, 11])
def test_shifted_term_equals_a_loop_over_pairs(C: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_module, "SHIFTED", 3)
    queries = normal(H, B, C, d).requires_grad_()
    table = normal(2 * C - 1, d, seed=1)
    found, expected = ShiftedTerm(table).scores(queries), slow_shifted(queries, table)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(found, [queries]), gradients(expected, [queries]))
    assert torch.autograd.gradcheck(ShiftedTerm(table).scores, (queries,))


# Attention


def randomised(module: nn.Module) -> nn.Module:
    module.double()
    for number, parameter in enumerate(module.parameters()):
        parameter.data = normal(*parameter.shape, seed=number) / 2
    return module


@pytest.mark.parametrize("masked", [False, True])
def test_dot_product_attention_equals_a_loop_over_pairs(masked: bool) -> None:
    L, Q = 5, 3
    attention = randomised(DotProductAttention(H, d))
    nodes = normal(B, L, H * d, seed=20).requires_grad_()
    visible = (normal(B, Q, L, seed=21) > 0) | torch.eye(L, dtype=torch.bool)[:Q]
    if not masked:
        visible = torch.ones(1, 1, L, dtype=torch.bool)
    rows = []
    for b, i, h in product(range(B), range(Q), range(H)):
        part = slice(h * d, (h + 1) * d)
        q, k, v = (
            project(nodes[b])[:, part]
            for project in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        seen = visible.expand(B, Q, L)[b, i]
        rows.append((k[seen] @ q[i] / math.sqrt(d)).softmax(0) @ v[seen])
    expected = attention.out(torch.stack(rows).view(B, Q, H * d))
    found = attention(nodes, Q, visible)
    torch.testing.assert_close(found, expected)
    inputs = [nodes, *attention.parameters()]
    for ours, theirs in zip(gradients(found, inputs), gradients(expected, inputs), strict=True):
        # The keys' bias adds the same to all scores: its derivative is zero but for rounding.
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-12)


def test_a_query_that_sees_nothing_stays_finite() -> None:
    attention = RelativeAttention(H, d)
    nodes = normal(B, 3, H * d).float().requires_grad_()
    visible = torch.zeros(1, 1, 3, dtype=torch.bool)
    out = attention(nodes, 3, ShiftedTerm(normal(5, d).float()), visible)
    (gradient,) = torch.autograd.grad(out.sum(), nodes)
    assert out.isfinite().all()
    assert gradient.isfinite().all()


# Dropout


def weights_of(kind: str, rate: float, training: bool) -> Tensor:
    """The attention weights [L, L] as the values meet them: nodes and values are unit vectors."""
    L = 64
    torch.manual_seed(0)
    nodes = torch.eye(L)[None]
    visible = torch.ones(1, 1, L, dtype=torch.bool)
    if kind == "relative":
        relative_attention = RelativeAttention(1, L, v_proj=False, dropout=rate).train(training)
        out: Tensor = relative_attention(nodes, L, ShiftedTerm(torch.zeros(2 * L - 1, L)), visible)
        return out[0].detach()
    attention = DotProductAttention(1, L, dropout=rate).train(training)
    for projection in (attention.v_proj, attention.out):
        projection.weight.data = torch.eye(L)
        projection.bias.data.zero_()
    out = attention(nodes, L, visible)
    return out[0].detach()


@pytest.mark.parametrize("kind", ["relative", "dot_product"])
def test_dropout_drops_weights_in_training_and_scales_the_others(kind: str) -> None:
    whole, dropped = weights_of(kind, 0.0, training=True), weights_of(kind, 0.25, training=True)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], whole[kept] / 0.75)
    assert 0.72 < kept.float().mean() < 0.78  # 4096 draws: 4 standard deviations


@pytest.mark.parametrize("kind", ["relative", "dot_product"])
def test_dropout_does_nothing_in_prediction(kind: str) -> None:
    whole, predicted = weights_of(kind, 0.0, training=False), weights_of(kind, 0.25, training=False)
    assert torch.equal(predicted, whole)
    torch.testing.assert_close(whole.sum(1), torch.ones(64))
