"""`spacy-flat.Encoder.v2` beneath components that are made compact."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from blocks import pipe_config
from ner.conftest import TEXTS, examples_of, found
from spacy.language import Language

from spacy_flat.compress.compactor import Bits, Compactor, CompressConfig, size_on_disk
from spacy_flat.nn import compact

from .conftest import Pretrained, encoder, start, with_flat, with_shared

SHARED = "tok2vec/model"


@pytest.fixture
def shared(pretrained: Pretrained) -> Language:
    nlp = with_shared(pretrained("mlm"))
    start(nlp)
    return nlp


@pytest.fixture
def alone(pretrained: Pretrained) -> Language:
    """`flat_ner` on an encoder of its own."""
    nlp = with_flat(encoder(pretrained("lm")))
    start(nlp)
    return nlp


def vectors(nlp: Language) -> Any:
    tok2vec = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    return np.concatenate(tok2vec.predict([nlp.make_doc(text) for text in TEXTS]))


@pytest.mark.parametrize(("bits", "size"), [(16, 0.6), (8, 0.35), (4, 0.3)])
def test_a_shared_encoder_is_rounded(
    bits: Bits, size: float, shared: Language, tmp_path: Path
) -> None:
    before = vectors(shared)
    shared.to_disk(tmp_path / "before")
    compactor = Compactor(shared)
    compactor.apply(CompressConfig(bits=bits))
    after = vectors(shared)
    np.testing.assert_allclose(after, before, atol=0.3 if bits < 8 else 0.05)
    assert not np.array_equal(after, before)
    shared.to_disk(tmp_path / "after")
    sizes = [(tmp_path / name / SHARED).stat().st_size for name in ("before", "after")]
    assert sizes[1] < size * sizes[0]
    loaded = spacy.load(tmp_path / "after")
    assert np.array_equal(vectors(loaded), after)
    assert found(loaded) == found(shared)
    compactor.apply(CompressConfig(bits=32))
    assert np.array_equal(vectors(shared), before)


def test_encoders_of_other_components_stay(pretrained: Pretrained, shared: Language) -> None:
    """Neither one of a component that is not trained, nor one that none listens to."""
    other = encoder(pretrained("lm"))
    shared.add_pipe("re2_similarity", config=pipe_config("re2_similarity", {"tok2vec": other}))
    shared.add_pipe("tok2vec", name="alone", config={"model": other})
    for name in ("re2_similarity", "alone"):
        model = shared.get_pipe(name).model  # type: ignore[attr-defined]
        node = model.layers[0] if model.layers else model
        node.initialize()
    before = {name: shared.get_pipe(name).to_bytes() for name in ("re2_similarity", "alone")}  # type: ignore[attr-defined]
    Compactor(shared).apply(CompressConfig())
    for name, data in before.items():
        assert shared.get_pipe(name).to_bytes() == data, name  # type: ignore[attr-defined]


def test_rounded_once(alone: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a call, however often sizes are tried."""
    compactor = Compactor(alone)
    compactor.count(TEXTS)
    calls = []
    rounded = compact.rounded
    monkeypatch.setattr(compact, "rounded", lambda *args: calls.append(args) or rounded(*args))
    compactor.apply(CompressConfig(), limit=1e6)
    assert len(calls) == 1


def test_sizes_are_those_of_rounded_encoders(alone: Language) -> None:
    """And where none fits, the encoder is as it was."""
    compactor = Compactor(alone)
    before = encoder_weights(alone)
    compactor.count(TEXTS)
    compactor.apply(CompressConfig())
    size, rows = size_on_disk(alone), compactor.rows()
    compactor.apply(CompressConfig(bits=32))
    compactor.apply(CompressConfig(), limit=size)
    assert compactor.rows() == rows
    with pytest.raises(ValueError, match="F372"):
        compactor.apply(CompressConfig(), limit=1000)
    for now, then in zip(encoder_weights(alone), before, strict=True):
        assert torch.equal(now, then)


def encoder_weights(nlp: Language) -> list[torch.Tensor]:
    (found,) = Compactor(nlp).networks
    return [each.detach().clone() for each in found.shim.module.parameters()]


@pytest.mark.parametrize("bits", [32, 16])
def test_what_is_learnt_between_two_calls_is_lost(bits: Bits, alone: Language) -> None:
    """Of the encoder, too, so that it and the component still belong together."""
    compactor = Compactor(alone)
    compactor.apply(CompressConfig(bits=bits))
    before = alone.to_bytes()
    alone.update(examples_of(alone), sgd=alone.resume_training())
    assert alone.to_bytes() != before
    compactor.apply(CompressConfig(bits=bits))
    assert alone.to_bytes() == before
