"""Texts as sequences: what is known of characters and of words."""

from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.ner.batch import CharBatch, WordBatch
from spacy_flat.ner.tener.featuriser import (
    LONGEST_SPELLING,
    LOWER,
    MIXED,
    NUMBER,
    OTHER,
    TITLE,
    UPPER,
    SequenceFeaturiser,
    build_vocabulary,
    case_of,
)
from spacy_flat.ner.tener.options import SequenceOptions
from spacy_flat.text.segments import Segment
from spacy_flat.text.spans import Units
from spacy_flat.text.vocabulary import Vocabulary
from spacy_flat.vectors import TextVectors

EN = spacy.blank("en")
TRAINING = ["Ann met 12 people in New York .", "ann is in https://example.org/" + "x" * 60, ""]


def units(text: str, unit: Any) -> Units:
    return Units.as_read(EN.make_doc(text), unit)


def encoder(unit: Any = "token", vectors: TextVectors | None = None, **options: Any) -> Vocabulary:
    texts = [units(text, unit) for text in TRAINING]
    return build_vocabulary(SequenceOptions(unit=unit, **options), texts, word_vectors=vectors)


def batches_of(found: SequenceFeaturiser, texts: list[str]) -> list[Any]:
    split = [units(text, found.unit) for text in texts]
    segments = [Segment(n, 0, len(text)) for n, text in enumerate(split) if len(text)]
    return list(found.batches(split, segments))


@pytest.mark.parametrize(
    ("words", "case"),
    [
        (("a", "ann", "don't", "être", "o'clock"), LOWER),
        (("Ann", "A", "Élan", "O'clock"), TITLE),
        (("NASA", "U.N.", "AT&T"), UPPER),
        (("iPhone", "McDonald", "3D", "1990s", "H2O", "covid19"), MIXED),
        (("3", "2021", "3.14", "1,000", "10:30", "-5", "５"), NUMBER),
        ((".", "...", "#", ":)", "中国", "😀", "\n", " "), OTHER),
    ],
)
def test_case(words: tuple[str, ...], case: int) -> None:
    assert {word: case_of(word) for word in words} == dict.fromkeys(words, case)


def test_words_of_a_batch() -> None:
    found = encoder().featuriser
    (batch,) = batches_of(found, ["Ann met zzz", "", "12 99 " + "y" * 90])
    assert isinstance(batch, WordBatch)
    rows = dict(zip([segment.text for segment in batch.segments], range(2), strict=True))
    first, second = rows[0], rows[2]
    assert batch.n_units.tolist() == [3, 3]
    assert batch.words[first, 0] > 0
    assert batch.words[first, 2] == 0
    assert batch.words[second, 0] == batch.words[second, 1] > 0
    assert batch.cases[first].tolist() == [TITLE, LOWER, LOWER]
    assert (np.diff(batch.n_spelled) >= 0).all()
    assert batch.n_spelled.max() == batch.spellings.shape[1] == LONGEST_SPELLING
    spelled = batch.n_spelled[batch.numbers]
    assert spelled[first].tolist() == [3, 3, 3]
    assert spelled[second].tolist() == [2, 2, LONGEST_SPELLING]


@given(st.lists(st.text("Ann 1é😀.", max_size=12), max_size=5), st.integers(1, 30))
def test_batches_are_the_texts_one_by_one(texts: list[str], batch_size: int) -> None:
    for unit in ("char", "token"):
        whole = encoder(unit, batch_size=batch_size).featuriser
        together = {segment.text: row for segment, row in rows_of(batches_of(whole, texts))}
        for number, text in enumerate(texts):
            alone = [row for _, row in rows_of(batches_of(whole, [text]))]
            assert alone == ([together[number]] if text else [])


def rows_of(batches: list[Any]) -> list[tuple[Segment, Any]]:
    """What a batch says of each segment, without padding."""
    found = []
    for batch in batches:
        for row, segment in enumerate(batch.segments):
            n = int(batch.n_units[row])
            assert batch.present[row].sum() == n
            if isinstance(batch, CharBatch):
                said: Any = [batch.chars[row, :n].tolist(), batch.bigrams[row, :n].tolist()]
            else:
                spellings = [
                    batch.spellings[number, : batch.n_spelled[number]].tolist()
                    for number in batch.numbers[row, :n]
                ]
                said = [batch.words[row, :n].tolist(), batch.cases[row, :n].tolist(), spellings]
            found.append((segment, said))
    return found
