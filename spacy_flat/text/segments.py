"""The segments of long texts.

A text is split after the last sentence end that fits, else after a comma, else anywhere. A comma
may be within an entity, so there the segments overlap, and the entities found in the overlap decide
where one segment ends and the other starts. Lengths count units.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .scripts import CLOSING, SENTENCE_ENDS
from .spans import EntitySpan, Units

OVERLAP = 40  # units that two segments share if a sentence is split; at most half a segment

# Of characters
SEGMENT_END = re.compile(rf"[{SENTENCE_ENDS}；;\n][{CLOSING}]*")
COMMA = re.compile(r"[，、,：:\s]")

# Of whole tokens: "U.S." and "J." end no sentence
END_TOKENS = re.compile(r"[.!?。！？…;；]+|\s*\n\s*")
CLOSING_TOKENS = re.compile(r"[”’»」』）)\]\"']+")
COMMA_TOKENS = re.compile(r"[,:，、：–—-]+")


@dataclass(frozen=True)
class Segment:
    """Units [start, end) of text number `text`."""

    text: int
    start: int
    end: int


def split_texts(texts: Sequence[Units], max_length: int) -> list[Segment]:
    """Split texts into segments of at most `max_length` units, except those of white space only."""
    return [
        segment
        for number, text in enumerate(texts)
        for segment in split_units(number, text, max_length)
        if text.to_characters([EntitySpan(segment.start, segment.end, "")])
    ]


def split_units(
    number: int, units: Units, max_length: int, overlap: int = OVERLAP
) -> list[Segment]:
    """Split a text into segments of at most `max_length` units."""
    overlap = min(overlap, max_length // 2)
    segments = []
    start, length = 0, len(units)
    sentence_ends = commas = None
    while length - start > max_length:
        if sentence_ends is None or commas is None:
            sentence_ends, commas = _boundaries(units)
        limit = start + max_length
        end = _last(sentence_ends, start, limit)
        following = end
        if not end:
            # From twice the overlap on, so that no unit is in three segments.
            end = _last(commas, start + 2 * overlap, limit) or limit
            following = end - overlap
        segments.append(Segment(number, start, end))
        start = following
    if start < length:
        segments.append(Segment(number, start, length))
    return segments


def _boundaries(units: Units) -> tuple[list[int], list[int]]:
    """The units that follow sentence ends, and those that follow commas."""
    if units.unit == "char":
        ends, commas = (mark.finditer(units.visible) for mark in (SEGMENT_END, COMMA))
        return [match.end() for match in ends], [match.end() for match in commas]
    strings = units.strings(0, len(units))
    behind_commas = [i + 1 for i, token in enumerate(strings) if COMMA_TOKENS.fullmatch(token)]
    behind_ends = []
    for number, token in enumerate(strings):
        if END_TOKENS.fullmatch(token):
            behind_ends.append(number + 1)
        elif behind_ends and behind_ends[-1] == number and CLOSING_TOKENS.fullmatch(token):
            behind_ends[-1] = number + 1
    return behind_ends, behind_commas


def _last(places: list[int], start: int, limit: int) -> int:
    """The last of the sorted places in (start, limit], or 0."""
    number = bisect_right(places, limit)
    return places[number - 1] if number and places[number - 1] > start else 0


def divide_segments(
    segments: Sequence[Segment], found: Sequence[Sequence[EntitySpan]]
) -> Iterator[list[EntitySpan]]:
    """Yield the entities of each segment of a text that count.

    An overlap is divided where no entity of either segment is cut, as near its middle as possible;
    otherwise the left segment decides.
    """
    start = 0
    for number, (segment, spans) in enumerate(zip(segments, found, strict=True)):
        end = segment.end
        if number + 1 < len(segments) and segments[number + 1].start < segment.end:
            following = segments[number + 1]
            end = _division(following.start, segment.end, [*spans, *found[number + 1]])
        yield [span for span in spans if start <= span.start and span.end <= end]
        start = end


def _division(start: int, end: int, spans: Sequence[EntitySpan]) -> int:
    inside = {place for span in spans for place in range(span.start + 1, span.end)}
    middle = (start + end) // 2
    free = [place for place in range(start, end + 1) if place not in inside]
    return min(free, key=lambda place: abs(place - middle), default=end)


def spans_in(spans: Sequence[EntitySpan], segment: Segment) -> Sequence[EntitySpan]:
    """The sorted, non-overlapping spans that lie in a segment, wholly or in part."""
    first = bisect_right(spans, segment.start, key=lambda span: span.end)
    last = bisect_left(spans, segment.end, key=lambda span: span.start)
    return spans[first:last]


def part_in(span: EntitySpan, segment: Segment) -> EntitySpan:
    """The part of a span in a segment, with offsets from the segment's start."""
    start, end = max(span.start, segment.start), min(span.end, segment.end)
    return EntitySpan(start - segment.start, end - segment.start, span.label)
