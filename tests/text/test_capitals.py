"""Lines in capitals are read in lower case, all others as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_flat.text.capitals import lower_capitals
from spacy_flat.text.units import Units


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("FORD OPENS PLANT", "ford opens plant"),
        ("DEAR ANNA, THE 3D PRINTER IS IN HULL!", "dear anna, the 3d printer is in hull!"),
        ("Dear Anna,\nTHE PLANT IS OPEN\nJohn", "Dear Anna,\nthe plant is open\nJohn"),
        ("ТАСС ПИШЕТ: ВСЁ ХОРОШО", "тасс пишет: всё хорошо"),
        ("İZMİR IS A CITY", "İzmİr is a city"),
        ("ΟΔΟΣ ΑΘΗΝΑΣ ΕΙΝΑΙ", "οδος αθηνας ειναι"),
        ("FORD OPENS PLANT\x1fBBC NEWS", "ford opens plant\x1fBBC NEWS"),
    ],
)
def test_lines_in_capitals_are_lowered(text: str, read: str) -> None:
    assert lower_capitals(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "BBC NEWS",
        "J. R. R. T. W.",
        "Ford OPENS PLANT TODAY",
        "NBA、CBA、WTO三家",
        "BBC NEWS\nITV NEWS",
        "BBC NEWS\x1fITV NEWS",
        "FORD opens PLANT HERE",
        "1 2 3 4",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert lower_capitals(text) == text


@given(st.text(alphabet="ABÇİẞßabé中1 \n.'", max_size=60))
def test_characters_keep_their_places(text: str) -> None:
    read = lower_capitals(text)
    assert len(read) == len(text)
    assert read.lower() == text.lower()
    assert lower_capitals(read) == read


def test_tokens_are_lowered_and_characters_not() -> None:
    doc = Doc(Vocab(), ["FORD", "OPENS", "PLANT"])
    assert Units.as_read(doc, "token").strings(0, 3) == ["ford", "opens", "plant"]
    assert Units.of(doc, "token").strings(0, 3) == ["FORD", "OPENS", "PLANT"]
    assert Units.as_read(doc, "char").text == doc.text == "FORD OPENS PLANT "
