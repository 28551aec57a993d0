"""Pretrained vectors and trained offsets."""

import pytest
import torch

from spacy_flat.nn import weights
from spacy_flat.nn.embeddings import PretrainedEmbedding, Table

KEYS = torch.tensor([2, 5])
VECTORS = torch.tensor([[0.1, -0.2, 0.3], [1.0, 2.0, -3.0]])


def table() -> PretrainedEmbedding:
    torch.manual_seed(0)
    embedding = PretrainedEmbedding(Table(6, 3, 3))
    embedding.set_pretrained(KEYS, VECTORS)
    return embedding


def test_a_vector_is_pretrained_plus_offset() -> None:
    embedding = table()
    with torch.no_grad():
        embedding.offsets.weight[2] = 0.5

    assert torch.equal(embedding(KEYS), VECTORS + torch.tensor([[0.5], [0.0]]))
    assert torch.equal(embedding(torch.tensor([6])), torch.zeros(1, 3))  # neither
    assert embedding(torch.tensor([0, 1])).abs().min() > 0  # offsets alone


def test_offsets_without_pretrained_vectors_start_uniform() -> None:
    """In ±√(3 / d), so that a vector's expected length is 1."""
    torch.manual_seed(0)
    embedding = PretrainedEmbedding(Table(2000, 2000, 12))
    vectors = embedding(torch.arange(2001)).detach()
    assert 0.495 < vectors.abs().max() <= 0.5
    assert 0.22 < vectors.abs().mean() < 0.28
    assert abs(vectors.norm(dim=1).square().mean() - 1.0) < 0.03


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("length", [1e-30, 1e-8, 1e-5, 1.0, 1e9])
def test_whole_numbers_of_very_short_and_long_vectors(length: float, bits: int) -> None:
    """They lose no more than others, and no number outgrows its bits."""
    vectors = length * torch.tensor([[1.0, -1.0, 0.9], [-1.0, 0.9, 0.3]])
    embedding = PretrainedEmbedding(Table(2, 0, 3, int8=True))
    embedding.set_pretrained(torch.tensor([1, 2]), vectors, bits)
    assert embedding.pretrained.abs().max() <= 2 ** (bits - 1) - 1
    step = length / (2 ** (bits - 1) - 1)
    assert ((embedding(torch.tensor([1, 2])) - vectors).abs() <= 0.51 * step).all()


def test_scales_that_were_saved_in_half_precision_are_loaded() -> None:
    old, loaded = (PretrainedEmbedding(Table(6, 0, 3, int8=True)) for _ in "12")
    old.set_pretrained(KEYS, VECTORS)
    old.scales = old.scales.half()
    weights.fill(loaded, weights.read_tensors(weights.to_bytes(old, {})))
    assert torch.equal(loaded(KEYS), old(KEYS))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("keys", [[], [5, 2]])
def test_merging_takes_whole_vectors(keys: list[int], bits: int) -> None:
    """Those of no key, too: then every key is unknown."""
    other = table()
    kept = torch.tensor(keys, dtype=torch.int64)
    merged = PretrainedEmbedding(Table(len(keys), 0, 3, int8=True))
    merged.merge(other, kept, bits)
    assert torch.equal(merged(torch.zeros(1, dtype=torch.int64)), other(kept.new_zeros(1)))
    numbers = torch.arange(1, len(keys) + 1)
    vectors = other(kept).detach()
    step = vectors.abs().amax(dim=1, keepdim=True) / (2 ** (bits - 1) - 1)
    assert ((merged(numbers) - vectors).abs() <= 0.51 * step).all()
    assert len(merged.pretrained[1:].unique()) <= 2**bits - 1
