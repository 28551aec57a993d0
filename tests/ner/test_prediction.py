"""Texts of every kind through `flat_ner`, one by one and in batches."""

import pytest
from spacy.language import Language

from .conftest import GOLD, TEXTS, Copy, entities, found, marked


def test_learns_ten_sentences_by_heart(trained: Language) -> None:
    assert found(trained) == GOLD
    assert [entities(doc) for doc in trained.pipe(TEXTS)] == [marked(text) for text in TEXTS]


def test_long_texts_are_cut_and_put_together(trained: Language, copy_of: Copy) -> None:
    """No two of the sentences fit into a segment: their entities are found as one by one."""
    nlp = copy_of(trained, max_length=12)
    sentences = [text for text in TEXTS if text[-1] in "。！"] * 20
    doc = nlp("".join(sentences))
    assert entities(doc) == [entity for text in sentences for entity in marked(text)]


@pytest.mark.parametrize("batch_size", [1, 30, 300])
def test_batches_of_segments_change_nothing(
    trained: Language, copy_of: Copy, batch_size: int
) -> None:
    texts = [*TEXTS, "", " ", "😀", "".join(TEXTS[:4])]
    assert found(copy_of(trained, batch_size=batch_size), texts) == found(trained, texts)
