"""`spacy-flat.Encoder.v2` beneath components that are made compact."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from blocks import pipe_config
from ner.conftest import TEXTS, TINY, examples_of, found
from spacy.language import Language

from spacy_flat.compress.compactor import Bits, Compactor, CompressConfig, size_on_disk
from spacy_flat.nn import compact

from .conftest import Pretrained

LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 32, "upstream": "*"}
OWN = "flat_ner/model"
SHARED = "tok2vec/model"


def encoder(path: Path) -> dict[str, Any]:
    block = {"@architectures": "spacy-flat.Encoder.v2", "path": str(path)}
    return {**block, "max_length": 18, "overlap": 6}


@pytest.fixture
def shared(pretrained: Pretrained) -> Language:
    """Two components that listen to an encoder, and a tagger that does so as well."""
    nlp = spacy.blank("zh")
    nlp.add_pipe("tok2vec", config={"model": encoder(pretrained("lm"))})
    nlp.add_pipe("flat_ner", config=pipe_config("flat_ner", {**TINY["model"], "tok2vec": LISTENER}))
    nlp.add_pipe("tener_ner", config=pipe_config("tener_ner", {"tok2vec": LISTENER}))
    return initialised(nlp)


def with_its_own(encoder: dict[str, Any]) -> Language:
    nlp = spacy.blank("zh")
    nlp.add_pipe("flat_ner", config=pipe_config("flat_ner", {**TINY["model"], "tok2vec": encoder}))
    return initialised(nlp)


def initialised(nlp: Language) -> Language:
    nlp.config["initialize"]["components"]["flat_ner"] = {"lexicon": {"@misc": "test.lexicon"}}
    nlp.initialize(lambda: examples_of(nlp))
    return nlp


def vectors(nlp: Language) -> Any:
    tok2vec = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    return np.concatenate(tok2vec.predict([nlp.make_doc(text) for text in TEXTS]))


@pytest.mark.parametrize(("bits", "size"), [(16, 0.6), (8, 0.35), (4, 0.35)])
def test_a_shared_encoder_is_rounded(
    bits: Bits, size: float, shared: Language, tmp_path: Path
) -> None:
    before = vectors(shared)
    shared.to_disk(tmp_path / "before")
    compactor = Compactor(shared)
    compactor.apply(CompressConfig(bits=bits))
    after = vectors(shared)
    np.testing.assert_allclose(after, before, atol=0.05)
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


def test_rounded_once(pretrained: Pretrained, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a call, however often sizes are tried."""
    nlp = with_its_own(encoder(pretrained("lm")))
    compactor = Compactor(nlp)
    compactor.count(TEXTS)
    calls = []
    rounded = compact.rounded
    monkeypatch.setattr(compact, "rounded", lambda *args: calls.append(args) or rounded(*args))
    compactor.apply(CompressConfig(), limit=1e6)
    assert len(calls) == 1


def test_sizes_are_those_of_rounded_encoders(pretrained: Pretrained) -> None:
    """And where none fits, the encoder is as it was."""
    nlp = with_its_own(encoder(pretrained("lm")))
    compactor = Compactor(nlp)
    before = encoder_weights(nlp)
    compactor.count(TEXTS)
    compactor.apply(CompressConfig())
    size, rows = size_on_disk(nlp), compactor.rows()
    compactor.apply(CompressConfig(bits=32))
    compactor.apply(CompressConfig(), limit=size)
    assert compactor.rows() == rows
    with pytest.raises(ValueError, match="F372"):
        compactor.apply(CompressConfig(), limit=1000)
    for now, then in zip(encoder_weights(nlp), before, strict=True):
        assert torch.equal(now, then)


def encoder_weights(nlp: Language) -> list[torch.Tensor]:
    (found,) = Compactor(nlp).networks
    return [each.detach().clone() for each in found.shim.module.parameters()]


@pytest.mark.parametrize("bits", [32, 16])
def test_what_is_learnt_between_two_calls_is_lost(bits: Bits, pretrained: Pretrained) -> None:
    """Of the encoder, too, so that it and the component still belong together."""
    nlp = with_its_own({**encoder(pretrained("lm")), "fine_tune": True})
    compactor = Compactor(nlp)
    compactor.apply(CompressConfig(bits=bits))
    before = nlp.to_bytes()
    nlp.update(examples_of(nlp), sgd=nlp.resume_training())
    assert nlp.to_bytes() != before
    compactor.apply(CompressConfig(bits=bits))
    assert nlp.to_bytes() == before
