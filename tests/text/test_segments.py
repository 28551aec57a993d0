"""Long texts are split into segments, and what is found in these is joined."""

from itertools import chain, pairwise

import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st

from spacy_flat.text.segments import Segment, divide_segments, split_texts, split_units
from spacy_flat.text.spans import EntitySpan, Units

texts = st.text(alphabet="中国a。！，”\n ", max_size=120)
limits = st.integers(1, 30).flatmap(
    lambda length: st.tuples(st.just(length), st.integers(0, length // 2))
)


@st.composite
def annotated(draw: st.DrawFn) -> tuple[str, list[EntitySpan]]:
    """A text and entities in it that do not overlap, in order."""
    text = draw(texts)
    spans = []
    end = 0
    for gap, width in draw(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 8)))):
        start, end = end + gap, end + gap + width
        if end <= len(text):
            spans.append(EntitySpan(start, end, draw(st.sampled_from(["PER", "LOC"]))))
    return text, spans


def split(text: str | Units, max_length: int, overlap: int = 0) -> list[Segment]:
    units = Units.visible_characters(text) if isinstance(text, str) else text
    return split_units(0, units, max_length, overlap)


def found_in(segment: Segment, spans: list[EntitySpan]) -> list[EntitySpan]:
    """What a network finds that knows the entities, but sees only this segment: of an entity that
    is cut, the part that it sees."""
    return [
        EntitySpan(max(start, segment.start), min(end, segment.end), label)
        for start, end, label in spans
        if start < segment.end and segment.start < end
    ]


def joined(segments: list[Segment], spans: list[EntitySpan]) -> list[EntitySpan]:
    return [*chain(*divide_segments(segments, [found_in(part, spans) for part in segments]))]


@given(texts, limits)
@example("", (1, 0))
@example("一二三四，五六七八九十" * 6, (12, 5))
def test_segments_cover_the_text_and_fit(text: str, limits: tuple[int, int]) -> None:
    max_length, overlap = limits
    segments = split(text, max_length, overlap)
    covered = {place for segment in segments for place in range(segment.start, segment.end)}
    assert covered == set(range(len(text)))
    assert all(0 < segment.end - segment.start <= max_length for segment in segments)
    for left, right in pairwise(segments):
        assert left.start < right.start
        assert left.end < right.end
        assert left.end - right.start in (0, overlap)
    for first, third in zip(segments, segments[2:], strict=False):
        assert first.end <= third.start


@pytest.mark.parametrize(
    ("text", "limits", "expected"),
    [
        ("一。二。三。", (6,), "一。二。三。"),
        ("他说：“好。”我，不去。再见", (9,), "他说：“好。”|我，不去。再见"),
        ("一二三，四五，六七八九，十", (8,), "一二三，四五，|六七八九，十"),
        # A comma may be within an entity, a sentence end may not.
        ("一二三四，五六七八九，十。十一", (8, 2), "一二三四，|四，五六七八九，|九，十。十一"),
        ("一二三四五六七八九十", (6, 2), "一二三四五六|五六七八九十"),
        ("一二三四五六七", (4, 40), "一二三四|三四五六|五六七"),  # at most half
    ],
)
def test_where_texts_are_split(text: str, limits: tuple[int, ...], expected: str) -> None:
    pieces = [text[part.start : part.end] for part in split(text, *limits)]
    assert pieces == expected.split("|")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Он жил в Москве и работал . Потом уехал в Казань .", "Он жил в Москве и работал ."),
        ('He said : " Go home . " Then he left the house', 'He said : " Go home . "'),
        ("the writer J. K. Rowling , who came late , left at", "the writer J. K. Rowling ,"),
        ("a b c d e f g h i j k l", "a b c d e f g h"),
    ],
)
def test_where_texts_of_tokens_are_split(text: str, first: str) -> None:
    units = Units.as_read(spacy.blank("xx")(text), "token")
    segment = split(units, 8, 2)[0]
    assert " ".join(units.strings(segment.start, segment.end)) == first


@given(annotated(), limits)
def test_joining_loses_no_entity_that_is_not_cut(
    annotated: tuple[str, list[EntitySpan]], limits: tuple[int, int]
) -> None:
    text, spans = annotated
    segments = split(text, *limits)
    found = joined(segments, spans)
    edges = {edge for part in segments for edge in (part.start, part.end)}
    whole = [span for span in spans if not edges & set(range(span.start + 1, span.end))]
    assert set(whole) <= set(found)
    assert found == sorted(found)
    assert all(left.end <= right.start for left, right in pairwise(found))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([(4, 6), (8, 10)], [(4, 6), (8, 10)], [("L", 4, 6), ("R", 8, 10)]),  # in the middle
        ([(6, 10)], [(6, 12)], [("R", 6, 12)]),  # whole over the middle
        ([(1, 10)], [(4, 13)], [("L", 1, 10)]),  # no place is free
    ],
)
def test_where_two_segments_meet(
    left: list[tuple[int, int]], right: list[tuple[int, int]], expected: list[tuple[str, int, int]]
) -> None:
    segments = [Segment(0, 0, 10), Segment(0, 4, 14)]
    found = [[EntitySpan(*each, "L") for each in left], [EntitySpan(*each, "R") for each in right]]
    kept = chain(*divide_segments(segments, found))
    assert [(label, start, end) for start, end, label in kept] == expected


@given(st.lists(texts | st.just(" " * 100 + "\n" * 100 + "在重庆" + " " * 100)))
def test_all_but_white_space_is_in_segments(texts: list[str]) -> None:
    segments = split_texts([Units.visible_characters(text) for text in texts], 7)
    read = {(part.text, place) for part in segments for place in range(part.start, part.end)}
    for number, text in enumerate(texts):
        assert {(number, i) for i, each in enumerate(text) if not each.isspace()} <= read
    assert not any(texts[part.text][part.start : part.end].isspace() for part in segments)
