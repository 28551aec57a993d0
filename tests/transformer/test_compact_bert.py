"""A BERT beneath components that are made compact."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from ner.conftest import GOLD, TEXTS, check_known, found
from spacy.language import Language

from spacy_flat.compress.compactor import Compactor

from .conftest import learn, make, start


def vectors_of(nlp: Language) -> Any:
    """Those that the component reads."""
    tok2vec = nlp.get_pipe("flat_ner").model.layers[0]  # type: ignore[attr-defined]
    docs = [nlp.make_doc(text) for text in TEXTS]
    if "transformer" in nlp.pipe_names:
        docs = list(nlp.get_pipe("transformer").pipe(docs))  # type: ignore[attr-defined]
    return np.concatenate(tok2vec.predict(docs))


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "own"])
def test_a_bert_is_rounded(is_shared: bool, tiny_bert: Path, tmp_path: Path) -> None:
    nlp = make(tiny_bert)
    learn(nlp, start(nlp), 25)
    if not is_shared:
        nlp.replace_listeners("transformer", "flat_ner", ["model.tok2vec"])
        nlp.remove_pipe("transformer")
    check_known(nlp)
    before = vectors_of(nlp)
    compactor = Compactor(nlp)
    compactor.apply(bits=32)
    assert np.array_equal(vectors_of(nlp), before)
    nlp.to_disk(tmp_path / "whole")
    compactor.apply(bits=16)
    nlp.to_disk(tmp_path / "rounded")
    loaded = spacy.load(tmp_path / "rounded")
    np.testing.assert_allclose(vectors_of(loaded), before, atol=0.05)
    assert not np.array_equal(vectors_of(loaded), before)
    assert found(loaded) == GOLD
    file = "transformer/model" if is_shared else "flat_ner/model"
    sizes = [(tmp_path / name / file).stat().st_size for name in ("whole", "rounded")]
    assert sizes[1] < 0.8 * sizes[0]
