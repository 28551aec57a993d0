"""Attention against slow references that loop over all pairs, in float64."""

from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from spacy_flat.nn import layers as layers_module
from spacy_flat.nn.layers import Relation, RelativeAttention, relative_scores

H, B, d = 2, 3, 4


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def make_lattice(C: int, n_words: int) -> tuple[Tensor, Tensor]:
    """Heads and kinds [B, L] of the nodes: C characters of kind 0, then words of kinds 1 and 2."""
    rng = np.random.default_rng(0)
    heads = np.concatenate([np.tile(np.arange(C), (B, 1)), rng.integers(0, C, (B, n_words))], 1)
    kinds = np.concatenate([np.zeros((B, C), int), rng.integers(1, 3, (B, n_words))], 1)
    return torch.from_numpy(heads), torch.from_numpy(kinds)


def relations_of(queries: str, encodings: Tensor, heads: Tensor, kinds: Tensor) -> list[Relation]:
    """Of characters, or of all nodes: one for the queries of each kind, as FLAT has it; the
    second's encodings are twice and the third's three times the given ones."""
    if queries == "characters":
        return [Relation(encodings, np.arange((encodings.shape[3] + 1) // 2), None, heads, kinds)]
    flat = heads.ravel().numpy()
    relations = []
    for kind in range(3):
        rows = np.flatnonzero(kinds.ravel().numpy() == kind)
        rows = rows[np.argsort(flat[rows], kind="stable")]
        numbers = torch.from_numpy(rows)
        relations.append(Relation((kind + 1) * encodings, flat[rows], numbers, heads, kinds))
    return relations


def slow_scores(queries: Tensor, encodings: Tensor, heads: Tensor, kinds: Tensor) -> Tensor:
    """Each pair's encoding is that of the key's kind and the distance of the heads."""
    reach = (encodings.shape[3] - 1) // 2
    encodings = encodings.expand(H, -1, -1, -1)
    n_queries, L = queries.shape[2], heads.shape[1]
    scores = queries.new_zeros(H, B, n_queries, L)
    for h, b, i, j in product(range(H), range(B), range(n_queries), range(L)):
        encoding = encodings[h, :, kinds[b, j], heads[b, i] - heads[b, j] + reach]
        scores[h, b, i, j] = queries[h, b, i] @ encoding * (1 + kinds[b, i])
    return scores


def check_equal(found: Tensor, expected: Tensor, inputs: list[Tensor]) -> None:
    """Compare values, and the gradients of a sum with a different weight for each."""
    torch.testing.assert_close(found, expected)
    weights = normal(*found.shape, seed=9)
    ours, theirs = (torch.autograd.grad((x * weights).sum(), inputs) for x in (found, expected))
    # A keys' bias adds the same to all scores: its derivative is zero but for rounding.
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-12)


# So few scores that each query is a chunk, some, and all in one
@pytest.mark.parametrize("chunk", [1, 400, 1 << 20])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", ["characters", "nodes"])
def test_relative_scores_equal_a_loop_over_pairs(
    chunk: int, shared: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers_module, "CHUNK", chunk)
    C, n_words = 7, 5
    heads, kinds = make_lattice(C, n_words)
    queries = normal(H, B, C + n_words * (kind == "nodes"), d).requires_grad_()
    encodings = normal(1 if shared else H, d, 3, 2 * C - 1, seed=1).requires_grad_()
    relations = relations_of(kind, encodings, heads, kinds)
    n_chunks = len(list(layers_module._chunks(torch.empty(H, B, C, d), relations[0])))
    assert (n_chunks > 1) == (chunk < 1 << 20)
    expected = slow_scores(queries, encodings, heads, kinds)
    check_equal(relative_scores(queries, relations), expected, [queries, encodings])


def test_a_query_that_sees_nothing_stays_finite() -> None:
    attention = RelativeAttention(H, d)
    nodes = normal(B, 3, H * d).float().requires_grad_()
    visible = torch.zeros(1, 1, 3, dtype=torch.bool)
    out = attention(nodes, 3, [Relation.of_positions(normal(5, d).float())], visible)
    (gradient,) = torch.autograd.grad(out.sum(), nodes)
    assert out.isfinite().all()
    assert gradient.isfinite().all()
