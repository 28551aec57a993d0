"""How texts are cut into parts that are translated one by one."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.translator.featuriser import TranslationFeaturiser
from spacy_flat.translator.names import Placeholder
from spacy_flat.translator.options import TranslationOptions
from spacy_flat.translator.placeholders import placeholders
from spacy_flat.translator.splitting import split

KNOWN = "我们喜欢茶书他说王芳雅虎公司。！？，、；!?，“”』）)"
NO_NAMES: tuple[Placeholder, ...] = ()


def encoder(max_length: int = 100, placeholders: int = 8) -> TranslationFeaturiser:
    options = TranslationOptions(
        min_freq=1, target_pieces=256, max_length=max_length, placeholders=placeholders
    )
    return TranslationFeaturiser.build(options, [KNOWN], ["tea"])


def cut(text: str, names: Sequence[Placeholder] = NO_NAMES, **options: int) -> list[str]:
    made = encoder(**options)
    parts = split(text, placeholders(text, names, made), made)
    return [text[part.start : part.end] for part in parts]


@pytest.mark.parametrize(
    "text",
    [
        "我们喜欢茶。|我们喜欢书！|他说",
        "他说“我们喜欢茶。”|【我们喜欢书！？』】|他说?)|他说!",
        "我们\n|喜欢茶。",
    ],
)
def test_sentences_end_at_their_marks(text: str) -> None:
    """And at line ends. Quotation marks and brackets that close belong to what they close."""
    assert cut(text.replace("|", "")) == [each.strip() for each in text.split("|")]


def test_a_mark_within_a_name_ends_nothing() -> None:
    text = "我们喜欢雅虎！公司。他说"
    assert cut(text) == ["我们喜欢雅虎！", "公司。", "他说"]
    assert cut(text, [Placeholder(4, 9, "Yahoo! Inc.", "ORG")]) == ["我们喜欢雅虎！公司。", "他说"]
    # At its end it does.
    assert cut(text, [Placeholder(4, 7, "Yahoo!", "ORG")]) == ["我们喜欢雅虎！", "公司。", "他说"]


def test_long_sentences_are_cut_behind_the_last_comma_that_is_near_enough() -> None:
    assert cut("我们，喜欢，茶书他说王芳", max_length=8) == ["我们，喜欢，", "茶书他说王芳"]
    assert cut("我们喜欢茶书他说王芳，雅虎", max_length=4) == [
        "我们喜欢",
        "茶书他说",
        "王芳，",
        "雅虎",
    ]
    assert cut("我们喜欢茶 书他说王芳", max_length=8) == ["我们喜欢茶", "书他说王芳"]
    name = Placeholder(4, 8, "Wang Fang Co.", "ORG")
    assert cut("我们喜欢王芳公司他说", [name], max_length=6) == ["我们喜欢", "王芳公司他说"]
    name = Placeholder(0, 6, "Us, who like", "PER")
    assert cut("我们，喜欢茶书他说王芳", [name], max_length=8) == ["我们，喜欢茶书他", "说王芳"]


def test_words_in_latin_letters_and_numbers_are_copied() -> None:
    """Numbers as English writes them, except parts of what couldn't be read."""
    made = TranslationFeaturiser.build(
        TranslationOptions(min_freq=1, target_pieces=256),
        [KNOWN + "GPT0123456789月万.-"],
        ["tea"],
    )
    text = "我们喜欢GPT-4，12月3书１：25茶 1.5万茶 20几万，2023。"
    found = placeholders(text, NO_NAMES, made)
    written = ["GPT-4", "December", "3", "1:25", "15,000", "over 200,000", "2023"]
    assert [name.text for name in found] == written
    # Not what an entity has, nor the space beside it.
    found = placeholders("喜欢GPT 25", [Placeholder(2, 5, "it", "X")], made)
    assert [name.text for name in found] == ["it", "25"]


@given(
    st.text(alphabet="我们茶。，！” \nX😀", max_size=40),
    st.lists(st.integers(0, 40), max_size=8),
    st.integers(1, 12),
    st.integers(1, 3),
)
def test_nothing_is_lost_or_comes_twice(
    text: str, borders: list[int], max_length: int, n: int
) -> None:
    places = sorted({min(place, len(text)) for place in borders})
    names = [
        Placeholder(start, end, "X", "ORG")
        for start, end in list(pairwise(places))[::2]
        if text[start:end] == text[start:end].strip()
    ]
    made = encoder(max_length, n)
    parts = split(text, placeholders(text, names, made), made)
    assert "".join("".join(text[part.start : part.end] for part in parts).split()) == "".join(
        text.split()
    )
    assert all(before.end <= after.start for before, after in pairwise(parts))
    assert [name for part in parts for name in part.names if name.label] == names
    for part in parts:
        assert len(part.names) <= n
        assert part.end - part.start <= max_length or len(part.names) == 1
        assert all(part.start <= name.start < name.end <= part.end for name in part.names)
