"""Long texts are cut into segments, and what is found in these is put together."""

import itertools

import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st

from spacy_flat.text.options import SegmentOptions
from spacy_flat.text.segments import (
    Segment,
    join_segments,
    part_in,
    spans_in,
    split_texts,
    split_units,
)
from spacy_flat.text.units import EntitySpan, Units

texts = st.text(alphabet="中国a。！，”\n ", max_size=120)


@st.composite
def limits(draw: st.DrawFn) -> tuple[int, int]:
    """max_length and overlap."""
    max_length = draw(st.integers(1, 30))
    return max_length, draw(st.integers(0, max_length // 2))


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


def found_in(segment: Segment, spans: list[EntitySpan]) -> list[EntitySpan]:
    """What a network finds that knows the entities, but sees only this segment: of an entity that
    is cut, the part that it sees."""
    return [
        EntitySpan(max(start, segment.start), min(end, segment.end), label)
        for start, end, label in spans
        if start < segment.end and segment.start < end
    ]


@given(texts, limits())
@example("", (1, 0))
def test_segments_cover_the_text_and_fit(text: str, limits: tuple[int, int]) -> None:
    max_length, overlap = limits
    segments = split_units(7, Units.characters(text), max_length, overlap)
    places = {place for segment in segments for place in range(segment.start, segment.end)}
    assert places == set(range(len(text)))
    assert all(0 < segment.end - segment.start <= max_length for segment in segments)
    assert {segment.text for segment in segments} <= {7}
    for left, right in itertools.pairwise(segments):
        assert left.start < right.start
        assert left.end < right.end
        assert left.end - right.start in (0, overlap)


@example("一二三四，五六七八九十" * 6, (12, 5))
@given(texts, limits())
def test_no_character_is_in_three_segments(text: str, limits: tuple[int, int]) -> None:
    segments = split_units(0, Units.characters(text), *limits)
    for first, third in zip(segments, segments[2:], strict=False):
        assert first.end <= third.start


def pieces(text: str, max_length: int, overlap: int = 0) -> list[str]:
    return [
        text[part.start : part.end]
        for part in split_units(0, Units.characters(text), max_length, overlap)
    ]


@pytest.mark.parametrize(
    ("text", "limits", "expected"),
    [
        ("一。二。三。", (6,), "一。二。三。"),
        ("他说：“好。”我，不去。再见", (9,), "他说：“好。”|我，不去。再见"),
        ("一二三，四五，六七八九，十", (8,), "一二三，四五，|六七八九，十"),
        # A comma may be within an entity, a sentence end may not.
        ("一二三四，五六七八九，十。十一", (8, 2), "一二三四，|四，五六七八九，|九，十。十一"),
        ("一二三，四五六。七八九", (8, 2), "一二三，四五六。|七八九"),
        ("一二三四五六七八九十", (6, 2), "一二三四五六|五六七八九十"),
    ],
)
def test_where_texts_are_cut(text: str, limits: tuple[int, ...], expected: str) -> None:
    assert pieces(text, *limits) == expected.split("|")


def test_an_overlap_is_at_most_half_of_a_segment() -> None:
    assert pieces("字" * 35, 10, 40) == pieces("字" * 35, 10, 5)


def test_entities_in_an_overlap_stay_whole() -> None:
    """An entity at the end of a segment that was cut by force is the next one's to find."""
    spans = [EntitySpan(0, 2, "PER"), EntitySpan(4, 8, "LOC")]
    segments = split_units(0, Units.characters("一二三四五六七八九十"), 6, 3)
    assert segments[0].end == 6
    assert join_segments(segments, [found_in(part, spans) for part in segments]) == spans


@given(annotated(), limits())
def test_joining_loses_no_entity_that_is_not_cut(
    annotated: tuple[str, list[EntitySpan]], limits: tuple[int, int]
) -> None:
    text, spans = annotated
    segments = split_units(0, Units.characters(text), *limits)
    joined = join_segments(segments, [found_in(part, spans) for part in segments])
    edges = {edge for part in segments for edge in (part.start, part.end)}
    whole = [span for span in spans if not edges & set(range(span.start + 1, span.end))]
    assert set(whole) <= set(joined)
    assert joined == sorted(joined)
    assert all(left.end <= right.start for left, right in itertools.pairwise(joined))


@given(annotated(), st.integers(2, 30).map(lambda half: (2 * half, half)))
def test_an_overlap_keeps_entities_of_half_its_width(
    annotated: tuple[str, list[EntitySpan]], limits: tuple[int, int]
) -> None:
    """Nothing is lost by force: an entity of up to half the overlap is always whole in one of the
    two segments."""
    _, spans = annotated
    text = "字" * 120
    spans = [span for span in spans if span.end - span.start <= limits[1] // 2]
    segments = split_units(0, Units.characters(text), *limits)
    assert join_segments(segments, [found_in(part, spans) for part in segments]) == spans


@pytest.mark.parametrize("offset", range(40, 220, 7))
def test_entities_stay_whole_at_spaces(offset: int) -> None:
    """A space may lie within an entity, wherever the text is split."""
    text = ("word " * 100)[:offset] + " New York Times " + "word " * 60
    start = text.index("New")
    span = EntitySpan(start, start + 14, "ORG")
    segments = split_units(0, Units.characters(text), 60, 30)
    assert join_segments(segments, [found_in(part, [span]) for part in segments]) == [span]


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
    joined = [(label, start, end) for start, end, label in join_segments(segments, found)]
    assert joined == expected


@given(st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 8)), max_size=3), max_size=4))
def test_joined_entities_never_overlap_whatever_was_found(
    found: list[list[tuple[int, int]]],
) -> None:
    """Segments may contradict each other."""
    segments = split_units(0, Units.characters("字" * 45), 20, 10)
    spans = []
    for number, segment in enumerate(segments):
        ends, here = segment.start, []
        for gap, width in found[number] if number < len(found) else []:
            start, ends = ends + gap, ends + gap + width
            if ends <= segment.end:
                here.append(EntitySpan(start, ends, "LOC"))
        spans.append(here)
    joined = join_segments(segments, spans)
    assert all(left.end <= right.start for left, right in itertools.pairwise(joined))


@given(annotated(), st.integers(0, 60), st.integers(1, 60))
def test_parts_of_spans_in_a_segment(
    annotated: tuple[str, list[EntitySpan]], start: int, length: int
) -> None:
    _, spans = annotated
    segment = Segment(0, start, start + length)
    expected = [
        EntitySpan(begin - start, end - start, label)
        for begin, end, label in found_in(segment, spans)
    ]
    assert [part_in(span, segment) for span in spans_in(spans, segment)] == expected


class TestTokens:
    """Where texts of tokens are cut."""

    def pieces(self, text: str, max_length: int = 12, overlap: int = 4) -> list[str]:
        units = Units.of(spacy.blank("xx")(text), "token")
        segments = split_units(0, units, max_length, overlap)
        return [" ".join(units.strings(part.start, part.end)) for part in segments]

    def test_behind_sentences(self) -> None:
        russian = "Он жил в Москве и работал . Потом уехал в Казань ."
        assert self.pieces(russian, 8) == ["Он жил в Москве и работал .", "Потом уехал в Казань ."]

    def test_quotes_go_with_the_sentence(self) -> None:
        text = 'He said : " Go home . " Then he left the big house'
        assert self.pieces(text)[0] == 'He said : " Go home . "'

    def test_brackets_elsewhere_are_no_sentence_end(self) -> None:
        text = "He came . and she ( of Rome ) went with all of the others there"
        assert self.pieces(text)[0] == "He came ."

    def test_initials_end_no_sentence(self) -> None:
        assert self.pieces("the writer J. K. Rowling and two others , who came late , left") == [
            "the writer J. K. Rowling and two others ,",
            "and two others , who came late , left",
        ]

    def test_by_force_with_an_overlap(self) -> None:
        words = [f"w{number}" for number in range(20)]
        assert self.pieces(" ".join(words)) == [" ".join(words[:12]), " ".join(words[8:])]


def test_white_space_alone_is_in_no_segment() -> None:
    """However much of it there is: it costs next to nothing."""
    options = SegmentOptions(max_length=20, overlap=4)
    blank, text = " " * 100 + "\n" * 100, "在重庆"
    texts = [Units.characters(blank), Units.characters(blank + text + blank)]
    (segment,) = [part for part in split_texts(texts, options) if part.text == 1]
    assert texts[1].text[segment.start : segment.end].strip() == text
    assert [part.text for part in split_texts(texts, options)] == [1]


@given(texts)
def test_all_that_is_not_white_space_is_in_a_segment(text: str) -> None:
    segments = split_texts([Units.characters(text)], SegmentOptions(max_length=7, overlap=2))
    places = {place for part in segments for place in range(part.start, part.end)}
    assert {place for place, char in enumerate(text) if not char.isspace()} <= places
