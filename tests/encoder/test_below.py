"""assets/release/e5/below.py: an encoder below a trained recogniser."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ner.conftest import TEXTS, TINY, add_flat, blank, examples_of, train
from spacy.language import Language

from spacy_flat.nn.model import shim_of, tok2vec_of
from spacy_flat.nn.optimizers import AdamW

from .conftest import Pretrained, encoder

FOLDER = Path(__file__).parents[2] / "assets/release/e5"


@pytest.fixture
def put_below(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(FOLDER)
    return runpy.run_path(str(FOLDER / "below.py"))["put_below"]


def scores(nlp: Language) -> Any:
    pipe: Any = nlp.get_pipe("flat_ner")
    found = pipe.model.predict([nlp.make_doc(text) for text in TEXTS])
    return [part.scores.numpy() for part in found.batches]


def test_it_counts_for_nothing_at_first(pretrained: Pretrained, put_below: Any) -> None:
    trained = blank()
    add_flat(trained)
    train(trained)
    old: Any = trained.get_pipe("flat_ner")
    old.lexicon.add(["陈家村"], type="LOC")
    nlp = blank()
    lattice = {**TINY["model"]["lattice"], "bigrams": False}
    tok2vec = encoder(pretrained("mlm"))
    pipe: Any = add_flat(nlp, model={**TINY["model"], "lattice": lattice, "tok2vec": tok2vec})
    put_below(pipe, old)
    assert pipe.labels == old.labels
    assert "陈家村" in pipe.lexicon
    assert len(trained.get_pipe("flat_ner").featuriser.bigrams) > 0  # type: ignore[attr-defined]
    bigrams = shim_of(old.model).module.bigrams
    for weight in (bigrams.pretrained, bigrams.offsets.weight.data):  # type: ignore[union-attr]
        weight.zero_()
    again = blank()
    add_flat(again, model={**TINY["model"], "lattice": lattice, "tok2vec": tok2vec})
    for copy in (nlp, again.from_bytes(nlp.to_bytes())):
        for one, other in zip(scores(copy), scores(trained), strict=True):
            assert np.allclose(one, other, atol=1e-5)
    below: Any = tok2vec_of(pipe.model)
    before = shim_of(below).to_bytes()
    for _ in range(2):  # weights of 0 pass no gradient on
        nlp.update(examples_of(nlp), sgd=AdamW(0.001))
    assert shim_of(below).to_bytes() != before
