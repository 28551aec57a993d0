"""`flat_ner` as a component: its options, texts of every kind, and the memory of long ones."""

from typing import Any

import pytest
from spacy.language import Language

from .conftest import GOLD, TEXTS, Copy, add_flat, blank, entities, found, marked


def test_without_a_network_there_is_no_lexicon() -> None:
    with pytest.raises(ValueError, match=r"F308.*'flat_ner'"):
        _ = add_flat(blank()).lexicon  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("block", "options", "message"),
    [
        ("network", {"word_features": ["type", "type"]}, "F305.*word_features.*repetitions"),
        ("network", {"no_such_option": 1}, "no_such_option"),
        ("lattice", {"batch_size": 0}, "F305.*flat_ner, model.lattice: batch_size = 0 .*1 or more"),
        ("", {"on_misaligned": "keep"}, "on_misaligned"),
        ("", {"constrained_decoding": "often"}, "constrained_decoding"),
    ],
)
def test_impossible_options(block: str, options: dict[str, Any], message: str) -> None:
    config = {"model": {block: options}} if block else options
    with pytest.raises(ValueError, match=message):
        add_flat(blank(), config)


def test_learns_ten_sentences_by_heart(trained: Language) -> None:
    assert found(trained) == GOLD
    assert [entities(doc) for doc in trained.pipe(TEXTS)] == [marked(text) for text in TEXTS]


def test_long_texts_are_cut_and_put_together(trained: Language, copy_of: Copy) -> None:
    """No two of the sentences fit into a segment: their entities are found as one by one."""
    nlp = copy_of(trained, max_length=12)
    sentences = [text for text in TEXTS if text[-1] in "。！"] * 20
    doc = nlp("".join(sentences))
    assert entities(doc) == [entity for text in sentences for entity in marked(text)]
