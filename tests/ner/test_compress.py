"""Making trained components small."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from spacy.language import Language

from spacy_flat.compress.compactor import Compactor, size_on_disk

from .conftest import TEXTS, Copy, examples_of, flat

NEW = ["韩梅梅去北京大学。", "南京市的药店开业！", "龘龘住在上海"]


@pytest.fixture
def pipeline(trained: Language, copy_of: Copy) -> Language:
    """May be changed."""
    return copy_of(trained)


def compact(nlp: Language, texts: Sequence[str] = (), **how: int) -> Language:
    compactor = Compactor(nlp)
    compactor.count(texts)
    compactor.apply(**how)
    return nlp


def emissions(nlp: Language, text: str) -> torch.Tensor:
    model = flat(nlp).model
    (batch,) = model.predict([nlp.make_doc(text)]).batches
    return batch.scores


def test_merging_alone_changes_nothing(trained: Language, pipeline: Language) -> None:
    compact(pipeline, bits=32)
    for text in [*TEXTS, *NEW]:
        torch.testing.assert_close(emissions(pipeline, text), emissions(trained, text))
    assert len(pipeline.to_bytes()) < 0.8 * len(trained.to_bytes())


def test_rows_that_the_texts_do_not_have_are_unknown_afterwards(
    trained: Language, pipeline: Language
) -> None:
    compact(pipeline, TEXTS[:5], bits=32, min_count=1)
    encoder = flat(pipeline).model.attrs["featuriser"]
    known, gone = "人和药店", "李雷韩梅"
    assert (encoder.chars.look_up(np.array([ord(char) for char in known], np.uint64)) > 0).all()
    assert not encoder.chars.look_up(np.array([ord(char) for char in gone], np.uint64)).any()
    for text in TEXTS[:5]:
        torch.testing.assert_close(emissions(pipeline, text), emissions(trained, text))
    # A character that is gone is like one that never was there.
    torch.testing.assert_close(emissions(pipeline, "雷"), emissions(pipeline, "龘"))
    torch.testing.assert_close(emissions(pipeline, "雷"), emissions(trained, "龘"))


def test_the_largest_that_fits(pipeline: Language) -> None:
    compactor = Compactor(pipeline)
    compactor.count(TEXTS)
    compactor.apply()
    whole = size_on_disk(pipeline)
    least = compactor.apply(limit=whole - 500)
    assert size_on_disk(pipeline) <= whole - 500
    compactor.apply(min_count=least - 1)
    compacted = pipeline.to_bytes()
    assert size_on_disk(pipeline) > whole - 500
    assert compactor.apply(min_count=3, limit=2 * whole) == 3
    with pytest.raises(ValueError, match="F372"):
        compactor.apply(limit=1000)
    # What is learnt now is no part of what the next call begins with.
    learner = pipeline.resume_training()
    pipeline.update(examples_of(pipeline), sgd=learner)
    compactor.apply(min_count=least - 1)
    after = pipeline.to_bytes()
    compactor.apply(min_count=least - 1)
    assert pipeline.to_bytes() == after == compacted
