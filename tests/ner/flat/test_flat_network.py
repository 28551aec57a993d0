"""The network against a slow, direct computation that builds the encoding of every pair."""

import numpy as np
import pytest
import torch
from direct import DirectFLAT

from spacy_flat.ner.batch import LatticeBatch
from spacy_flat.ner.flat.network import FLAT, FLATSizes
from spacy_flat.ner.flat.options import FLATOptions
from spacy_flat.nn.embeddings import Table

QUIET = {f"{name}_dropout": 0.0 for name in ("embed", "lattice", "output", "ff", "key", "word")}
SIZES = FLATSizes(
    labels=["PER", "LOC"],
    chars=Table(30, 25, 6),
    bigrams=Table(40, 30, 5),
    words=Table(20, 15, 7),
    n_types=5,
    n_lengths=6,
    n_bands=4,
)


def make_network(**options) -> FLAT:
    torch.manual_seed(1)
    network = FLAT(FLATOptions(num_heads=2, head_dim=4, **{**QUIET, **options}), SIZES)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 1 or parameter.shape == (2, 4):  # not left at zero or one
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return network.double().eval()


def make_batch(sentences: list[tuple[int, list[tuple[int, int]]]], seed: int = 0) -> LatticeBatch:
    """sentences: number of characters, and (head, length) of each word."""
    rng = np.random.default_rng(seed)
    B = len(sentences)
    C = max(n for n, _ in sentences)
    M = max(len(words) for _, words in sentences)
    lengths = np.zeros((B, M), dtype=np.int64)
    heads = np.zeros((B, C + M), dtype=np.int64)
    present = np.zeros((B, C + M), dtype=bool)
    heads[:, :C] = np.arange(C)
    tails = heads.copy()
    for row, (n, words) in enumerate(sentences):
        present[row, :n] = True
        for column, (head, length) in enumerate(words):
            lengths[row, column] = length
            heads[row, C + column] = head
            tails[row, C + column] = head + length - 1
            present[row, C + column] = True
    return LatticeBatch(
        segments=(),
        n_units=np.array([n for n, _ in sentences]),
        chars=rng.integers(0, 31, (B, C)),
        bigrams=rng.integers(0, 41, (B, C)),
        words=rng.integers(0, 21, (B, M)) * present[:, C:],
        types=rng.integers(0, 5, (B, M)),
        lengths=lengths,
        bands=rng.integers(0, 4, (B, M)),
        heads=heads,
        tails=tails,
        present=present,
    )


SENTENCES = [(7, [(0, 2), (1, 3), (5, 2)]), (4, [(0, 4)]), (1, []), (9, [(2, 2), (2, 5), (7, 2)])]


VARIANTS = [
    *({"fusion": fusion, "layers": layers} for fusion in ("ff", "ff_two") for layers in (1, 2)),
    {"fusion": "ff", "layers": 2, "residual": False},
    {"scaled": True, "k_proj": True},
]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_equals_the_direct_form(options):
    network = make_network(**options)
    sentences = [*SENTENCES, (14, [(0, 2), (12, 2), (3, 7)])]
    batch = make_batch(sentences)
    fast = network(batch)
    slow = [
        row[:n] for row, n in zip(DirectFLAT(network).double()(batch), batch.n_units, strict=True)
    ]
    weights = [torch.randn(part.shape, dtype=torch.float64) for part in slow]
    for row, part in enumerate(slow):
        torch.testing.assert_close(fast[row, : len(part)], part, atol=1e-5, rtol=1e-5)

    def gradients(outputs):
        network.zero_grad()
        sum((w * out).sum() for w, out in zip(weights, outputs, strict=True)).backward()
        return {
            name: parameter.grad.to_dense().clone()
            for name, parameter in network.named_parameters()
            if parameter.grad is not None
        }

    fast_gradients = gradients([fast[row, : len(part)] for row, part in enumerate(slow)])
    slow_gradients = gradients(slow)
    assert fast_gradients.keys() == slow_gradients.keys()
    for name, gradient in slow_gradients.items():
        torch.testing.assert_close(fast_gradients[name], gradient, atol=1e-5, rtol=1e-5, msg=name)


@pytest.mark.parametrize("options", [{}, {"layers": 2}])
def test_prediction_keeps_encodings_until_the_weights_change(options: dict) -> None:
    """As with gradients, where nothing is kept: with words and texts of new lengths, a change of
    any weight, another precision."""
    network = make_network(**options)
    longer = [(80, [(0, 9), (3, 2)]), (90, [(10, 30)])]

    def check() -> None:
        for sentences in (SENTENCES, longer, SENTENCES, [(1, [])]):
            batch = make_batch(sentences)
            with torch.no_grad():
                quick = network(batch)
            assert torch.allclose(quick, network(batch), atol=1e-5)

    check()
    for parameter in network.parameters():
        with torch.no_grad():
            parameter.add_(torch.randn_like(parameter) * 0.3)
        check()
    network.float()
    check()
