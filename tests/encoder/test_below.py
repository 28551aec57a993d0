"""assets/release/e5: an encoder below a trained recogniser or translator."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ner.conftest import TEXTS, TINY, add_flat, blank, examples_of, train
from spacy.language import Language
from translator.conftest import TEXTS as SENTENCES
from translator.conftest import examples_of as pairs_of
from translator.conftest import found, settled
from translator.test_tok2vec import with_tok2vec

from spacy_flat.compress.compactor import Compactor, CompressConfig
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


def test_below_a_translator(pretrained: Pretrained, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sentence that is longer than the encoder's windows."""
    monkeypatch.syspath_prepend(FOLDER)
    script = runpy.run_path(str(FOLDER / "below_translator.py"))
    trained = settled()
    old: Any = trained.get_pipe("seq2seq_translator")
    nlp = with_tok2vec(encoder(pretrained("mlm"), fine_tune=False, remember=1))
    pipe: Any = nlp.get_pipe("seq2seq_translator")
    script["put_below"](pipe, old)
    texts = [*SENTENCES, "王芳喜欢" * 6]
    assert found(nlp, texts) == found(trained, texts)
    below: Any = tok2vec_of(pipe.model)
    before = shim_of(below).to_bytes()
    for _ in range(2):
        nlp.update(pairs_of(nlp), sgd=AdamW(0.001))
    assert shim_of(below).to_bytes() == before
    assert set(shim_of(below).memory.vectors) != set()
    assert shim_of(pipe.model).module.from_tok2vec.weight.abs().max() > 0
    again = with_tok2vec(encoder(None)).from_bytes(nlp.to_bytes())
    assert found(again, texts) == found(nlp, texts)
    Compactor(nlp).apply(CompressConfig(bits=8))
    assert found(nlp, SENTENCES) == found(again, SENTENCES)
    assert len(nlp.to_bytes()) < 0.5 * len(again.to_bytes())
