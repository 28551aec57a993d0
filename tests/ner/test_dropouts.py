"""The dropouts of both networks: how much they drop by default in training, and nothing in
prediction."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from spacy_flat.ner.flat.network import FLAT
from spacy_flat.ner.flat.options import FLATOptions
from spacy_flat.ner.tener.network import TENER
from spacy_flat.ner.tener.options import TENEROptions
from spacy_flat.nn.layers import TransformerLayer

from .flat.test_flat_network import SIZES, make_batch
from .tener.test_tener_network import CHARS, WORDS, char_batch, word_batch

LENGTHS = [50] * 24
SPELLINGS = {"spellings": np.ones((200, 8), np.int64), "n_spelled": np.full(200, 8)}
LATTICE = make_batch([(50, [(head, 2) for head in range(40)])] * 24)
KINDS: dict[str, Any] = {
    "flat": (FLAT, FLATOptions, SIZES, LATTICE),
    "tener": (TENER, TENEROptions, CHARS, char_batch(LENGTHS)),
    "tener_words": (TENER, TENEROptions, WORDS, replace(word_batch(LENGTHS), **SPELLINGS)),
}

# What enters some modules, or leaves those with a minus
PLACES = {
    "flat": {
        "char_proj": 0.5,
        "word_proj": 0.5,
        "layers.0.ff.3": 0.15,
        "-layers.0.ff": 0.15,
        "classify": 0.3,
    },
    "tener": {
        "project": 0.5,
        "encoder.layers.1.ff.3": 0.15,
        "-encoder.layers.1.ff": 0.15,
        "classify": 0.3,
    },
    "tener_words": {"project": 0.5, "speller.encoder": 0.5, "classify": 0.3},
}
TABLES = {
    "flat": {"chars": 0.2, "bigrams": 0.2, "words": 0.4},
    "tener": {"chars": 0.2, "bigrams": 0.2},
    "tener_words": {"words": 0.2},
}


def make(kind: str, **options: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    network, settings, sizes, batch = KINDS[kind]
    tables = {name: getattr(sizes, name) for name in TABLES[kind]}
    trained = {name: replace(table, trained=table.keys) for name, table in tables.items()}
    return network(settings(**options), replace(sizes, **trained)), batch


def heard(network: Any, batch: Any, *places: str) -> dict[str, Tensor]:
    met: dict[str, Tensor] = {}

    def hear(place: str) -> Any:
        def hook(_: Any, entering: tuple[Tensor, ...], leaving: Tensor) -> None:
            met[place] = leaving if place.startswith("-") else entering[0]

        return network.get_submodule(place.lstrip("-")).register_forward_hook(hook)

    hooks = [hear(place) for place in places]
    with torch.no_grad():
        network(batch)
    for hook in hooks:
        hook.remove()
    return met


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_dropped_by_default(kind: str) -> None:
    network, batch = make(kind)
    for layer in [each for each in network.modules() if isinstance(each, TransformerLayer)]:
        layer.ff[1] = torch.nn.GELU()  # which gives no zeros, as a ReLU does
    places = PLACES[kind]
    for mode, rates in ((True, places), (False, dict.fromkeys(places, 0.0))):
        met = heard(network.train(mode), batch, *places)
        shares = {place: (x == 0).float().mean().item() for place, x in met.items()}
        assert shares == pytest.approx(rates, abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_some_keys_become_unknown_in_training(kind: str) -> None:
    rates = {"key_dropout": 0.2} | ({"word_dropout": 0.4} if kind == "flat" else {})
    network, batch = make(kind, **rates)
    met = heard(network.train(), batch, *TABLES[kind])
    for name, wanted in TABLES[kind].items():
        before, keys = torch.from_numpy(getattr(batch, name)), met[name]
        dropped = (keys == 0) & (before != 0)
        assert torch.equal(keys[~dropped], before[~dropped])
        share = dropped.sum() / (before != 0).sum()
        assert share.item() == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_start_as_xaviers_and_biases_at_zero(kind: str) -> None:
    """Uniform in ±√(6 / (inputs + outputs)) (Glorot & Bengio 2010, equation 16)."""
    network, _ = make(kind)
    for linear in (part for part in network.modules() if isinstance(part, torch.nn.Linear)):
        bound = math.sqrt(6 / (linear.in_features + linear.out_features))
        shares = linear.weight.detach().flatten() / bound
        assert shares.abs().max() <= 1.0
        assert abs(shares.abs().mean() - 0.5) < 3 / math.sqrt(12 * len(shares))
        assert not linear.bias.any()
