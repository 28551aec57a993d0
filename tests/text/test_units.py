"""A text in characters or in tokens, and entities between the two."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_flat.text.units import EntitySpan, Units, token_ends

VOCAB = Vocab()

words = st.lists(st.text(alphabet="中国ab😀\n", min_size=1, max_size=4), max_size=12)


@st.composite
def docs(draw: st.DrawFn) -> Doc:
    tokens = draw(words)
    spaces = draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    return Doc(VOCAB, tokens, spaces)


@given(docs())
def test_token_ends_are_those_of_the_tokens(doc: Doc) -> None:
    heads, tails = token_ends(doc)
    assert heads.tolist() == [token.idx for token in doc]
    assert tails.tolist() == [token.idx + len(token) for token in doc]
    assert heads.dtype == tails.dtype == np.int64


@given(docs())
def test_units_are_characters_or_tokens(doc: Doc) -> None:
    chars, tokens = Units.of(doc, "char"), Units.of(doc, "token")
    assert chars.strings(0, len(chars)) == list(doc.text)
    assert tokens.strings(0, len(tokens)) == [token.text for token in doc]
    assert len(chars) == len(doc.text)
    assert len(tokens) == len(doc)
    assert chars.text == tokens.text == doc.text


@given(docs(), st.data())
def test_spans_of_units_come_back(doc: Doc, data: st.DataObject) -> None:
    """Through characters, but for white space, which is never an entity's end."""
    units = Units.of(doc, data.draw(st.sampled_from(["char", "token"])))
    ends = sorted(data.draw(st.sets(st.integers(0, len(units)), max_size=6)))
    spans = [
        EntitySpan(start, end, "LOC") for start, end in zip(ends[::2], ends[1::2], strict=False)
    ]
    characters = units.to_characters(spans)
    assert all(units.text[s.start : s.end].strip() for s in characters)
    bare = [s for s in spans if "".join(units.strings(s.start, s.end)).strip()]
    assert len(characters) == len(bare)
    for span, found in zip(bare, units.from_characters(characters), strict=True):
        whole = "".join(units.strings(span.start, span.end))
        part = "".join(units.strings(found.start, found.end))
        assert span.start <= found.start < found.end <= span.end
        assert part.strip() == whole.strip()


class TestGoldThatCutsTokens:
    """南京市|长江|大桥 and entities of its characters."""

    units = Units.of(Doc(VOCAB, ["南京市", "长江", "大桥"], [False] * 3), "token")

    def found(self, *spans: tuple[int, int]) -> list[tuple[int, int]]:
        ents = [EntitySpan(start, end, "LOC") for start, end in spans]
        return [span[:2] for span in self.units.from_characters(ents)]

    def test_takes_the_tokens_that_it_touches(self) -> None:
        assert self.found((0, 2)) == [(0, 1)]
        assert self.found((4, 6)) == [(1, 3)]

    def test_the_first_of_two_has_the_token(self) -> None:
        assert self.found((0, 4), (4, 7)) == [(0, 2), (2, 3)]
        assert self.found((0, 1), (1, 2), (3, 5)) == [(0, 1), (1, 2)]

    def test_nothing_is_nothing(self) -> None:
        assert self.found() == []


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, 2, "中国"), (0, 4, "中国"), (2, 5, "A"), (2, 4, None), (2, 8, "A B"), (8, 9, None)],
)
def test_white_space_is_trimmed(start: int, end: int, expected: str | None) -> None:
    units = Units.characters("中国 \nA B \n")
    found = units.to_characters([EntitySpan(start, end, "LOC")])
    assert [units.text[s.start : s.end] for s in found] == ([expected] if expected else [])
