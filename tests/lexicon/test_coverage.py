import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.lexicon import Entry, Lexicon, character_coverage, coverage, entity_coverage

ALPHABET = "京大学， "


def lexicon_of(*words: str) -> Lexicon:
    return Lexicon(map(Entry, words))


def test_share_of_characters():
    lexicon = lexicon_of("人和", "人和药店", "药店", "重庆")

    assert character_coverage(lexicon, ["人和药店在重庆开业", ""]) == 6 / 9
    assert character_coverage(lexicon, ["重庆"]) == 1
    assert character_coverage(lexicon, ["在开业", "重", "庆"]) == 0


def test_share_of_entities():
    lexicon = lexicon_of("重庆", "药店")
    lexicon.remove(["药店"])

    assert entity_coverage(lexicon, iter(["重庆", "药店", "重庆", "上海"])) == 2 / 4


@pytest.mark.parametrize("nothing", [[], ["", ""]])
def test_of_nothing(nothing: list[str]):
    assert character_coverage(lexicon_of("重庆"), nothing) == 0
    assert entity_coverage(lexicon_of("重庆"), nothing) == 0


def test_an_empty_lexicon_covers_nothing():
    assert character_coverage(Lexicon(), ["重庆"]) == entity_coverage(Lexicon(), ["重庆"]) == 0


@given(
    st.lists(st.text(ALPHABET, min_size=2, max_size=4).filter(lambda word: word == word.strip())),
    st.lists(st.text(ALPHABET, max_size=12)),
    st.integers(1, 3),
)
def test_characters_are_counted_one_by_one(words: list[str], texts: list[str], at_once: int):
    covered = [
        any(
            text[start : start + len(word)] == word
            for word in words
            for start in range(max(0, place - len(word) + 1), place + 1)
        )
        for text in texts
        for place in range(len(text))
    ]
    expected = sum(covered) / len(covered) if covered else 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "_TEXTS_AT_ONCE", at_once)
        assert character_coverage(lexicon_of(*words), iter(texts)) == expected


def test_what_is_no_text():
    with pytest.raises(TypeError, match="F028"):
        character_coverage(lexicon_of("重庆"), [None])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="F028"):
        entity_coverage(lexicon_of("重庆"), [None])  # type: ignore[list-item]
