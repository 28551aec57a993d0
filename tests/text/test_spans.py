"""A text in characters or in tokens, and entities between the two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_flat.text.scripts import lower_capitals
from spacy_flat.text.spans import EntitySpan, Units, token_ends

VOCAB = Vocab()

words = st.lists(st.text(alphabet="中国ab😀\n", min_size=1, max_size=4), max_size=12)


@st.composite
def docs(draw: st.DrawFn) -> Doc:
    tokens = draw(words)
    spaces = draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    return Doc(VOCAB, tokens, spaces)


@given(docs())
def test_units_are_characters_or_tokens(doc: Doc) -> None:
    chars, tokens = Units.as_read(doc, "char"), Units.as_read(doc, "token")
    assert chars.strings(0, len(chars)) == list(doc.text)
    assert tokens.strings(0, len(tokens)) == [token.text for token in doc]
    heads, tails = token_ends(doc)
    assert heads.tolist() == [token.idx for token in doc]
    assert tails.tolist() == [token.idx + len(token) for token in doc]


@given(docs(), st.data())
def test_spans_of_units_come_back(doc: Doc, data: st.DataObject) -> None:
    """Through characters, but for white space, which is never an entity's end."""
    units = Units.as_read(doc, data.draw(st.sampled_from(["char", "token"])))
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


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 2)], [(0, 1)]),
        ([(4, 6)], [(1, 3)]),
        ([(0, 4), (4, 7)], [(0, 2), (2, 3)]),  # the first of two has the token
        ([(0, 1), (1, 2), (3, 5)], [(0, 1), (1, 2)]),
    ],
)
def test_entities_that_cut_tokens_take_those_that_they_touch(
    spans: list[tuple[int, int]], expected: list[tuple[int, int]]
) -> None:
    units = Units.as_read(Doc(VOCAB, ["南京市", "长江", "大桥"], [False] * 3), "token")
    found = units.from_characters([EntitySpan(*span, "LOC") for span in spans])
    assert [span[:2] for span in found] == expected


@pytest.mark.parametrize("mark", "\u200b\u2060\ufeff\u00ad")
def test_characters_of_zero_width_are_passed_over(mark: str) -> None:
    text = f"{mark}在北{mark}京{mark}大学 A{mark}b"
    units = Units.visible_characters(text)
    assert units.visible == "在北京大学 Ab"
    assert units.to_characters([EntitySpan(1, 5, "ORG")]) == [EntitySpan(2, 8, "ORG")]
    assert units.from_characters([EntitySpan(2, 8, "ORG")]) == [EntitySpan(1, 5, "ORG")]
    tokens = Units.as_read(Doc(VOCAB, [f"A{mark}b", mark]), "token")
    assert tokens.strings(0, 2) == ["Ab", mark]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("FORD OPENS PLANT", "ford opens plant"),
        ("Dear Anna,\nTHE PLANT IS OPEN\nJohn", "Dear Anna,\nthe plant is open\nJohn"),
        ("İZMİR IS A CITY", "İzmİr is a city"),
        ("FORD OPENS PLANT\x1fBBC NEWS", "ford opens plant\x1fBBC NEWS"),
        ("BBC NEWS\nITV NEWS", None),
        ("J. R. R. T. W.", None),
        ("Ford OPENS PLANT TODAY", None),
        ("NBA、CBA、WTO三家", None),
    ],
)
def test_lines_in_capitals_are_lowered(text: str, read: str | None) -> None:
    assert lower_capitals(text) == (text if read is None else read)


@given(st.text(alphabet="ABÇİẞßabé中1 \n.'", max_size=60))
def test_characters_keep_their_positions(text: str) -> None:
    read = lower_capitals(text)
    assert len(read) == len(text)
    assert read.lower() == text.lower()
    assert lower_capitals(read) == read
    tokens = Units.as_read(Doc(VOCAB, ["FORD", "OPENS", "PLANT"]), "token")
    assert tokens.strings(0, 3) == ["ford", "opens", "plant"]
