"""Names come through exactly once, whatever the network, which here has learnt nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc

from spacy_flat.translator.writing import Translation

from .conftest import make, translator

# Translations that hold others, one that two names share, and one in punctuation.
NAMES = {
    "甲": "Xqjz",
    "乙己": "Xqjz Zvwk",
    "丙": "Zvwk",
    "丁丁": "Łódźq-Xqjz",
    "戊": "Zvwk",
    "辛": "Ø",
    "庚": ".Jvkq!",
}
MARK = "\ue000"
FILLERS = ["茶", "我喜欢", "他住在北京。", "，", " ", "NBA", "😀", "！”", "\n"]


@pytest.fixture(scope="module")
def untrained() -> Language:
    nlp = make()
    translator(nlp).names = NAMES
    return nlp


def texts_with_names() -> st.SearchStrategy[list[str]]:
    """Texts in pieces, of which some are names: side by side, at both ends, the same one twice."""
    names = st.lists(st.sampled_from(list(NAMES)), max_size=5)
    fillers = st.lists(st.sampled_from(FILLERS), max_size=12)
    mixed = st.tuples(names, fillers).flatmap(lambda both: st.permutations(both[0] + both[1]))
    return mixed.filter(lambda pieces: 1 <= len("".join(pieces)) <= 60)


def doc_of(nlp: Language, pieces: list[str]) -> Doc:
    doc = nlp.make_doc("".join(pieces))
    ends = [len("".join(pieces[: number + 1])) for number in range(len(pieces))]
    doc.ents = [
        doc.char_span(end - len(piece), end, "PER")
        for end, piece in zip(ends, pieces, strict=True)
        if piece in NAMES
    ]
    return doc


def check(doc: Doc, translation: Translation) -> None:
    ents = sorted(translation.ents, key=lambda ent: ent.source or ())
    assert [ent.source for ent in ents] == [(ent.start_char, ent.end_char) for ent in doc.ents]
    assert [ent.text for ent in ents] == [NAMES[ent.text] for ent in doc.ents]
    assert all(translation.text[ent.start : ent.end] == ent.text for ent in ents)
    # As words of their own, without overlaps, and nowhere else.
    rest, end = "", 0
    for ent in sorted(ents, key=lambda ent: ent.start):
        assert ent.start >= end
        rest, end = f"{rest}{translation.text[end : ent.start]}{MARK}", ent.end
    rest += translation.text[end:]
    assert not re.search(rf"[^\W_]{MARK}|{MARK}[^\W_]|{MARK}{MARK}", rest)
    assert not any(ent.text in rest for ent in ents)


@pytest.mark.parametrize("beam", [1, 4])
@settings(max_examples=12, deadline=None)
@given(batch=st.lists(texts_with_names(), min_size=1, max_size=8))
def test_each_name_exactly_once(untrained: Language, beam: int, batch: list[list[str]]) -> None:
    docs = [doc_of(untrained, pieces) for pieces in batch]
    found = translator(untrained).translate(docs, n_best=beam, beam=beam)
    for doc, own in zip(docs, found, strict=True):
        for translation in own:
            check(doc, translation)
