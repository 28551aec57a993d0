"""The dropouts of both networks: how much they drop by default in training, where each acts, and
that none of them acts at prediction."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from spacy_flat.ner.batch import CharBatch, LatticeBatch, WordBatch
from spacy_flat.ner.flat.network import FLAT, FLATSizes
from spacy_flat.ner.flat.options import FLATOptions
from spacy_flat.ner.network import TaggingNetwork
from spacy_flat.ner.tener.network import TENER, TENERSizes
from spacy_flat.ner.tener.options import TENEROptions
from spacy_flat.nn.network import Table

Batch = LatticeBatch | CharBatch | WordBatch

B, C, M = 24, 50, 40
KEYS = 50
TABLE = Table(KEYS, KEYS, 8)
ALL = ("embed", "output", "ff", "attention", "key")


def known(*shape: int) -> Any:
    """Keys, none of which is unknown."""
    return np.random.default_rng(0).integers(1, KEYS + 1, shape)


def lattice_batch() -> LatticeBatch:
    heads = np.tile(np.concatenate([np.arange(C), np.arange(M)]), (B, 1))
    tails = heads.copy()
    tails[:, C:] += 1
    return LatticeBatch(
        segments=(),
        n_units=np.full(B, C),
        chars=known(B, C),
        bigrams=known(B, C),
        words=known(B, M),
        types=np.zeros((B, M), dtype=np.int64),
        lengths=np.full((B, M), 2),
        bands=np.zeros((B, M), dtype=np.int64),
        heads=heads,
        tails=tails,
        present=np.ones((B, C + M), dtype=bool),
    )


def character_batch() -> CharBatch:
    present = np.ones((B, C), dtype=bool)
    return CharBatch((), np.full(B, C), present, known(B, C), known(B, C))


def word_batch() -> WordBatch:
    return WordBatch(
        segments=(),
        n_units=np.full(B, C),
        present=np.ones((B, C), dtype=bool),
        words=known(B, C),
        cases=np.ones((B, C), dtype=np.int64),
        numbers=known(B, C),
        spellings=known(200, 8),
        n_spelled=np.full(200, 8),
    )


def make_flat(**options: Any) -> tuple[FLAT, Batch]:
    sizes = FLATSizes(["PER"], chars=TABLE, bigrams=TABLE, words=TABLE, n_lengths=4)
    return FLAT(FLATOptions(**options), sizes), lattice_batch()


def make_tener(**options: Any) -> tuple[TENER, Batch]:
    return TENER(
        TENEROptions(**options), TENERSizes(["PER"], chars=TABLE, bigrams=TABLE)
    ), character_batch()


def make_tener_of_words(**options: Any) -> tuple[TENER, Batch]:
    sizes = TENERSizes(["PER"], words=TABLE, n_spelling=KEYS)
    return TENER(TENEROptions(**options), sizes), word_batch()


MAKERS = {"flat": make_flat, "tener": make_tener, "tener_words": make_tener_of_words}


def share_of_zeros(network: TaggingNetwork, batch: Batch, **modules: str) -> dict[str, float]:
    """Of what enters some modules of a network, or of what leaves those named with a minus, the
    share that is zero; by the names given."""
    shares: dict[str, float] = {}

    def hear(name: str, inside: bool) -> Callable[..., None]:
        def hook(_: nn.Module, entering: tuple[Tensor, ...], leaving: Tensor) -> None:
            met = entering[0] if inside else leaving
            shares[name] = (met == 0).float().mean().item()

        return hook

    hooks = [
        network.get_submodule(path.lstrip("-")).register_forward_hook(
            hear(name, not path.startswith("-"))
        )
        for name, path in modules.items()
    ]
    with torch.no_grad():
        network(batch)  # type: ignore[operator]
    for hook in hooks:
        hook.remove()
    return shares


# Vectors


PLACES = {
    "flat": {
        "embed": "char_proj",
        "lattice": "word_proj",
        "ff": "layers.0.ff.3",
        "ff_output": "-layers.0.ff",
        "output": "classify",
    },
    "tener": {
        "embed": "project",
        "ff": "encoder.layers.1.ff.3",
        "ff_output": "-encoder.layers.1.ff",
        "output": "classify",
    },
    "tener_words": {"embed": "project", "spelling": "speller.encoder", "output": "classify"},
}
DEFAULTS = {
    "embed": 0.5,
    "lattice": 0.5,
    "spelling": 0.5,
    "ff": 0.15,
    "ff_output": 0.15,
    "output": 0.3,
}


@pytest.mark.parametrize("kind", list(MAKERS))
def test_what_is_dropped_by_default(kind: str) -> None:
    torch.manual_seed(0)
    network, batch = MAKERS[kind](ff_activate="gelu")  # which gives no zeros, as a ReLU does
    places = PLACES[kind]

    training = share_of_zeros(network.train(), batch, **places)
    predicting = share_of_zeros(network.eval(), batch, **places)

    assert training == pytest.approx({name: DEFAULTS[name] for name in places}, abs=0.02)
    assert predicting == dict.fromkeys(places, 0.0)


# Keys


def keys_that_enter(network: TaggingNetwork, batch: Batch) -> dict[str, Tensor]:
    """The keys that reach the tables."""
    met: dict[str, Tensor] = {}

    def hear(name: str) -> Callable[..., None]:
        def hook(_: nn.Module, entering: tuple[Tensor, ...]) -> None:
            met[name] = entering[0]

        return hook

    for name in ("chars", "bigrams", "words", "speller.chars"):
        table: Any = network
        for part in name.split("."):
            table = getattr(table, part, None)
        if table is not None:
            table.register_forward_pre_hook(hear(name))
    with torch.no_grad():
        network(batch)  # type: ignore[operator]
    return met


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_some_keys_become_unknown_in_training(make: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    rates = {"key_dropout": 0.2}
    if make is make_flat:
        rates["word_dropout"] = 0.4
    network, batch = make(**rates)
    met = keys_that_enter(network.train(), batch)
    assert set(met) >= {"words" if make is make_tener_of_words else "chars"}
    for name, keys in met.items():
        wanted = rates.get("word_dropout", 0.2) if name == "words" else 0.2
        dropped = keys == 0
        assert dropped.float().mean().item() == pytest.approx(wanted, abs=0.03)
        before = torch.from_numpy(getattr(batch, {"speller.chars": "spellings"}.get(name, name)))
        assert torch.equal(keys[~dropped], before[~dropped])
