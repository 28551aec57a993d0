"""The network against a slow computation that builds the encoding of every pair."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from spacy_flat.ner.batch import CharBatch, WordBatch
from spacy_flat.ner.tags import OUTSIDE
from spacy_flat.ner.tener.network import N_CASES, TENER, TENERSizes
from spacy_flat.ner.tener.options import TENEROptions
from spacy_flat.nn.embeddings import Table
from spacy_flat.nn.layers import RelativeAttention, sinusoids

QUIET = {f"{name}_dropout": 0.0 for name in ("embed", "output", "ff", "key")}
CHARS = TENERSizes(["PER", "LOC"], chars=Table(30, 25, 6), bigrams=Table(40, 30, 5))
WORDS = TENERSizes(["PER", "LOC"], words=Table(30, 25, 6), n_spelling=20)
LENGTHS = [7, 4, 1, 9]


def make_network(sizes: TENERSizes = CHARS, **options: Any) -> TENER:
    torch.manual_seed(1)
    settings: dict[str, Any] = {"num_heads": 2, "head_dim": 6, "char_width": 6, **QUIET, **options}
    network = TENER(TENEROptions(**settings), sizes)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 1 or parameter.shape == (2, 6):  # not left at zero or one
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return network.double().eval()


def char_batch(lengths: list[int] = LENGTHS) -> CharBatch:
    rng = np.random.default_rng(0)
    shape = (len(lengths), max(lengths))
    present = np.arange(shape[1]) < np.array(lengths)[:, None]
    return CharBatch(
        segments=(),
        n_units=np.array(lengths),
        present=present,
        chars=rng.integers(0, 31, shape) * present,
        bigrams=rng.integers(0, 41, shape) * present,
    )


def word_batch(lengths: list[int] = LENGTHS) -> WordBatch:
    rng = np.random.default_rng(0)
    shape = (len(lengths), max(lengths))
    present = np.arange(shape[1]) < np.array(lengths)[:, None]
    n_spelled = np.array([1, 3, 8, 9, 20])
    spelled = np.arange(n_spelled.max()) < n_spelled[:, None]
    return WordBatch(
        segments=(),
        n_units=np.array(lengths),
        present=present,
        words=rng.integers(0, 31, shape) * present,
        cases=rng.integers(1, N_CASES, shape) * present,
        numbers=rng.integers(0, 5, shape),
        spellings=rng.integers(0, 21, spelled.shape) * spelled,
        n_spelled=n_spelled,
    )


def test_branches_score_their_tags_and_the_last_one_is_trained_alone() -> None:
    sizes = TENERSizes(["A", "B", "C", "D"], chars=Table(30, 25, 6), branches=[1, 2])
    network, batch = make_network(sizes, embed_dropout=0.5), char_batch()
    scores = network(batch)
    assert scores.shape[2] == 1 + 4 * 4
    for branch, part in zip(network.branches, (scores[..., 5:9], scores[..., 9:]), strict=True):
        assert part.equal(branch.classify(branch.encode(batch)))
    network.train_last_branch(True)
    network.train()
    noisy = [network(batch) for _ in range(2)]
    assert network.training
    for each in noisy:
        assert each[..., :9].equal(scores[..., :9])  # without dropout
    assert not noisy[0][..., 9:].equal(noisy[1][..., 9:])


def slow_scores(attention: RelativeAttention, x: Tensor) -> Tensor:
    """Section 3.2 of the paper, pair by pair: x [C, D] → [H, C, C]."""
    H, d = attention.num_heads, attention.head_dim
    C = len(x)
    q, k = (project(x).view(C, H, d) for project in (attention.q_proj, attention.k_proj))
    scores = x.new_zeros(H, C, C)
    for h, i, j in product(range(H), range(C), range(C)):
        (there,) = sinusoids(torch.tensor([i - j]), d).to(x)
        score = q[i, h] @ k[j, h] + q[i, h] @ there
        score = score + attention.u[h] @ k[j, h] + attention.v[h] @ there
        scores[h, i, j] = score * attention.scale
    return scores


def slow_encoder(network: TENER, x: Tensor) -> Tensor:
    """One sequence without padding: [C, D] → [C, D]."""
    for layer in network.encoder.layers:
        attention = layer.attention
        weights = slow_scores(attention, x).softmax(2)
        v = attention.v_proj(x).view(len(x), attention.num_heads, attention.head_dim)
        mixed = torch.einsum("hij,jhd->ihd", weights, v).reshape(x.shape)
        x = layer.attention_norm(x + mixed)
        x = layer.ff_norm(x + layer.ff(x))
    return x


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scaled": True},
        {"layers": 2, "num_heads": 3, "head_dim": 4},
        {"layers": 2, "k_proj": True, "scaled": True},
        {"head_dim": 5, "ff": 3},
    ],
)
def test_relative_attention_is_the_papers(options: dict[str, Any]) -> None:
    network, batch = make_network(**options), char_batch()
    assert network.chars is not None
    assert network.bigrams is not None
    emissions = network(batch)
    for row, length in enumerate(LENGTHS):
        keys = [torch.from_numpy(keys[row, :length]) for keys in (batch.chars, batch.bigrams)]
        x = network.project(torch.cat([network.chars(keys[0]), network.bigrams(keys[1])], dim=1))
        expected = network.classify(slow_encoder(network, x))
        torch.testing.assert_close(emissions[row, :length], expected)


@pytest.mark.parametrize("char_encoder", ["none", "adatrans", "lstm"])
def test_padding_changes_nothing_for_words(char_encoder: str) -> None:
    """Neither behind a sentence nor behind a word."""
    network, batch = make_network(WORDS, char_encoder=char_encoder), word_batch()
    emissions = network(batch)
    for row, length in enumerate(LENGTHS):
        numbers, within = np.unique(batch.numbers[row, :length], return_inverse=True)
        n_spelled = batch.n_spelled[numbers]
        alone = WordBatch(
            segments=(),
            n_units=batch.n_units[row : row + 1],
            present=batch.present[row : row + 1, :length],
            words=batch.words[row : row + 1, :length],
            cases=batch.cases[row : row + 1, :length],
            numbers=within.reshape(1, length),
            spellings=batch.spellings[numbers, : n_spelled.max()],
            n_spelled=n_spelled,
        )
        torch.testing.assert_close(network(alone)[0], emissions[row, :length])


@pytest.mark.parametrize(
    "options", [{}, {"char_width": 9}, {"char_encoder": "lstm"}]
)  # 9: three, odd, a head
@pytest.mark.parametrize("sizes", [CHARS, WORDS])
def test_every_parameter_learns(options: dict[str, Any], sizes: TENERSizes) -> None:
    network = make_network(sizes, **options).train()
    batch = char_batch() if sizes is CHARS else word_batch()
    emissions = network(batch)
    outside = torch.arange(emissions.shape[2]).expand_as(emissions) == OUTSIDE
    lengths = torch.from_numpy(batch.n_units)
    likelihood, _ = network.crf.likelihood_and_marginals(emissions, outside, lengths)
    torch.autograd.backward(-likelihood.sum())
    assert not [name for name, value in network.named_parameters() if value.grad is None]
