"""RE2 beside a slow reference that follows the paper, one pair after the other."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import gelu

from spacy_flat.nn.embeddings import Sizes, Table
from spacy_flat.nn.layers import Dropout
from spacy_flat.similarity import network as module
from spacy_flat.similarity.batch import TextBatch
from spacy_flat.similarity.network import RE2, Block
from spacy_flat.similarity.options import RE2Options
from spacy_flat.text.batches import Ragged

N_KEYS = 30
TINY = RE2Options(hidden=6)
VARIANTS = [
    TINY,
    replace(TINY, blocks=1),
    replace(TINY, blocks=4),
    replace(TINY, encoder_layers=1),
    replace(TINY, encoder_layers=3),
    replace(TINY, objective="score"),
]
Texts = list[list[int]]
TEXTS: Texts = [[3, 1, 4], [1, 5, 9, 2, 6, 5], [3], [5, 8, 9, 7, 9, 3, 2, 3, 8], [4, 6]]
PAIRS = [(0, 1), (2, 3), (3, 2), (1, 4), (4, 4)]


def make(options: RE2Options) -> RE2:
    torch.manual_seed(0)
    network = RE2(options, Sizes(["a", "b", "c"], chars=Table(N_KEYS, N_KEYS, 5)))
    with torch.no_grad():
        for parameter in network.parameters():  # nothing may hide behind a zero or a one
            parameter += 0.3 * torch.randn_like(parameter)
    return network.eval().double()


def batch_of(texts: Texts, pairs: list[tuple[int, int]]) -> TextBatch:
    ids = np.array([number for text in texts for number in text], dtype=np.int64)
    counts = np.array([len(text) for text in texts])
    left, right = np.array(pairs).T
    return TextBatch.of(Ragged(counts, {"chars": ids}), [left, right])


# The reference


def linear(layer: torch.nn.Linear, x: Tensor) -> Tensor:
    """With the weight written out: gains of directions of length one."""
    gain, direction = (
        getattr(layer.parametrizations.weight, name)  # type: ignore[union-attr]
        for name in ("original0", "original1")
    )
    weight = gain * direction / direction.flatten(1).norm(dim=1).reshape(gain.shape)
    if weight.dim() == 2:
        return x @ weight.T + layer.bias
    size = weight.shape[2]
    before, behind = (size - 1) // 2, size // 2
    padded = torch.cat([x.new_zeros(before, x.shape[1]), x, x.new_zeros(behind, x.shape[1])])
    return torch.stack(
        [
            sum((weight[:, :, k] @ padded[place + k] for k in range(size)), layer.bias)
            for place in range(len(x))
        ]
    )


def encode(block: Block, x: Tensor) -> Tensor:
    for layer in block.encoder.layers:
        x = gelu(torch.cat([linear(each, x) for each in layer], dim=1))  # type: ignore[union-attr]
    return x


def align(block: Block, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """What each unit of x is aligned with, and the weights of it."""
    keys = [gelu(linear(block.alignment.project[1], text)) for text in (x, y)]  # type: ignore[arg-type]
    weights = []
    for unit in keys[0]:
        scores = torch.stack([unit @ other for other in keys[1]]) * block.alignment.temperature
        weights.append(scores.exp() / scores.exp().sum())
    found = torch.stack(weights)
    return torch.stack([sum(w * o for w, o in zip(row, y, strict=True)) for row in found]), found  # type: ignore[misc]


def fuse(block: Block, x: Tensor, a: Tensor) -> Tensor:
    fusion = block.fusion
    parts = [
        gelu(linear(fusion.beside, torch.cat([x, a], dim=1))),
        gelu(linear(fusion.difference, torch.cat([x, x - a], dim=1))),
        gelu(linear(fusion.product, torch.cat([x, x * a], dim=1))),
    ]
    return gelu(linear(fusion.join, torch.cat(parts, dim=1)))


def reference(network: RE2, left: list[int], right: list[int]) -> Tensor:
    """[K] of one pair."""
    assert network.chars is not None
    embedded = [network.chars.offsets.weight[torch.tensor(text)] for text in (left, right)]
    entering, outputs = embedded, [[0.0 * embedded[0][:, :1], 0.0 * embedded[1][:, :1]]]
    for number, block in enumerate(network.blocks):
        assert isinstance(block, Block)
        if number:
            entering = [
                torch.cat([embedded[side], outputs[-1][side] + outputs[-2][side]], dim=1)
                for side in (0, 1)
            ]
        x, y = (torch.cat([text, encode(block, text)], dim=1) for text in entering)
        outputs.append(
            [fuse(block, x, align(block, x, y)[0]), fuse(block, y, align(block, y, x)[0])]
        )
    a, b = (output.max(dim=0).values for output in outputs[-1])
    features = torch.cat([a + b, (a - b).abs(), a * b])
    hidden = gelu(linear(network.predict.compare, features[None]))
    return linear(network.predict.classify, hidden)[0]


def expected(network: RE2, texts: Texts, pairs: list[tuple[int, int]]) -> Tensor:
    return torch.stack([reference(network, texts[left], texts[right]) for left, right in pairs])


# The tests


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_network_equals_the_reference(options: RE2Options) -> None:
    network = make(options)
    outputs = network(batch_of(TEXTS, PAIRS))
    assert outputs.shape == (len(PAIRS), 1 if options.objective == "score" else 3)
    torch.testing.assert_close(outputs, expected(network, TEXTS, PAIRS))


def test_gradients_equal_those_of_the_reference() -> None:
    network = make(replace(TINY, blocks=3))
    parameters = dict(network.named_parameters())
    weights = torch.randn(len(PAIRS), 3, dtype=torch.float64)
    found, wanted = (
        torch.autograd.grad((outputs * weights).sum(), list(parameters.values()))
        for outputs in (network(batch_of(TEXTS, PAIRS)).double(), expected(network, TEXTS, PAIRS))
    )
    for name, ours, theirs in zip(parameters, found, wanted, strict=True):
        ours, theirs = (each.to_dense() if each.is_sparse else each for each in (ours, theirs))
        torch.testing.assert_close(ours, theirs, msg=lambda text, name=name: f"{name}: {text}")


@settings(max_examples=20)
@given(
    texts=st.lists(
        st.lists(st.integers(0, N_KEYS), min_size=1, max_size=12), min_size=2, max_size=8
    )
)
def test_a_pair_is_compared_the_same_in_any_company(texts: Texts) -> None:
    """Whatever is in the batch, and however long the other texts are."""
    network = make(TINY)
    pairs = list(zip(range(len(texts)), reversed(range(len(texts))), strict=True))
    together = network(batch_of(texts, pairs))
    alone = [network(batch_of([texts[a], texts[b]], [(0, 1)])) for a, b in pairs]
    torch.testing.assert_close(together, torch.cat(alone))


def test_alignments_are_the_attention_of_each_block() -> None:
    network = make(replace(TINY, blocks=1))
    batch = batch_of(TEXTS, PAIRS)
    (weights,) = network.alignments(batch)
    first: Any = network.blocks[0]
    for number, (a, b) in enumerate(PAIRS):
        assert network.chars is not None
        texts = (network.chars.offsets.weight[torch.tensor(TEXTS[text])] for text in (a, b))
        x, y = (torch.cat([text, encode(first, text)], dim=1) for text in texts)
        n, m = len(x), len(y)
        expected = (align(first, x, y)[1] + align(first, y, x)[1].T) / 2
        torch.testing.assert_close(weights[number, :n, :m], expected)


def test_attention_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a long text needs, so that its attention is never in memory as a whole."""
    network = make(TINY)
    batch = batch_of(TEXTS, PAIRS)
    whole = network(batch)
    monkeypatch.setattr(module, "MAX_WEIGHTS", 60)
    torch.testing.assert_close(network(batch), whole)


def dropouts_of(network: RE2) -> dict[str, Dropout]:
    modules = network.named_modules()
    return {name: module for name, module in modules if isinstance(module, Dropout)}


@pytest.mark.parametrize("name", dropouts_of(make(TINY)))
def test_each_dropout_has_an_effect(name: str) -> None:
    network = make(TINY).float().train()
    for other, dropout in dropouts_of(network).items():
        if other != name:
            dropout.threshold = 0
    batch = batch_of(TEXTS, PAIRS)
    assert not torch.equal(network(batch), network(batch))


def test_weights_start_as_he_et_al_have_it() -> None:
    torch.manual_seed(0)
    network = RE2(RE2Options(hidden=150), Sizes(["a", "b"], chars=Table(9, 9, 50)))
    layers = {
        "convolution": (network.blocks[0].encoder.layers[0][0], 2 / 150),  # type: ignore[index]
        "fusion": (network.blocks[0].fusion.join, 2 / 450),
        "last": (network.predict.classify, 1 / 150),
    }
    for name, (layer, variance) in layers.items():
        assert layer.weight.var().item() == pytest.approx(variance, rel=0.15), name
        assert not layer.bias.any()
    assert network.blocks[0].alignment.temperature.item() == pytest.approx(1 / math.sqrt(150))
