"""The units that networks read of a text, its characters or tokens, and the segments of long texts.

A text is split after the last sentence end that fits, else after a comma, else anywhere. A comma
may be within an entity, so there the segments overlap, and the entities found in the overlap decide
where one segment ends and the other starts. Lengths count units.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..util.arrays import Ints

if TYPE_CHECKING:  # networks use only the arrays
    from spacy.tokens import Doc

Unit = Literal["char", "token"]

# For the classes of regular expressions.
HAN_RANGES = "\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # with 々, 〆 and 〇
UNSPACED_RANGES = HAN_RANGES + "\u3040-\u30ff"  # with kana, written without spaces too

# Zero width space, word joiner, byte order mark, soft hyphen: passed over where texts are read.
ZERO_WIDTH = "\u200b\u2060\ufeff\u00ad"

HAN = re.compile(f"[{HAN_RANGES}]+")
_ZERO_WIDTH = re.compile(f"[{ZERO_WIDTH}]")

OVERLAP = 40  # units that two segments share if a sentence is split; at most half a segment

# Of characters
SENTENCE_END = re.compile(r"""[。！？!?；;\n][”’」』）)"']*""")
COMMA = re.compile(r"[，、,：:\s]")

# Of whole tokens: "U.S." and "J." end no sentence
END_TOKENS = re.compile(r"[.!?。！？…;；]+|\s*\n\s*")
CLOSING_TOKENS = re.compile(r"[”’»」』）)\]\"']+")
COMMA_TOKENS = re.compile(r"[,:，、：–—-]+")

MIN_WORDS = 3  # fewer may be acronyms or names, as in "BBC NEWS"
LINE = re.compile("[^\n\x1f]+")  # texts of a pair have \x1f in between
WORD = re.compile(r"[^\W\d_]{2,}")

# Only the basic plane has pairs that texts need.
_HAN = "".join(map(chr, range(0x3400, 0xA000)))


class EntitySpan(NamedTuple):
    """Units [start, end) of a text are an entity. Units are characters unless stated otherwise."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Units:
    """A text in N units; unit i has the characters [starts[i], ends[i])."""

    unit: Unit
    text: str
    starts: Ints  # [N] ascending
    ends: Ints  # [N]

    @classmethod
    def as_read(cls, doc: Doc, unit: Unit) -> Units:
        """As networks read a Doc: without characters of zero width, and with tokens of lines in
        capitals in lower case."""
        if unit == "char":
            return cls.visible_characters(doc.text)
        return cls(unit, lower_capitals(doc.text), *token_ends(doc))

    @classmethod
    def visible_characters(cls, text: str) -> Units:
        """The characters of a text, except those of zero width."""
        places = np.arange(len(text))
        if hidden := [match.start() for match in _ZERO_WIDTH.finditer(text)]:
            places = np.delete(places, hidden)
        return cls("char", text, places, places + 1)

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def visible(self) -> str:
        """The characters that are units, if units are characters."""
        every = len(self) == len(self.text)
        return self.text if every else "".join(self.text[place] for place in self.starts.tolist())

    def strings(self, start: int, end: int) -> list[str]:
        """Units [start, end), without characters of zero width inside."""
        places = zip(self.starts[start:end].tolist(), self.ends[start:end].tolist(), strict=True)
        strings = [self.text[first:last] for first, last in places]
        if _ZERO_WIDTH.search(self.text):
            strings = [_ZERO_WIDTH.sub("", string) or string for string in strings]
        return strings

    def to_characters(self, spans: Sequence[EntitySpan]) -> list[EntitySpan]:
        """Spans of units as spans of characters, stripped of white space, as spaCy requires."""
        return [
            EntitySpan(start, end, span.label)
            for span in spans
            for start, end in [
                stripped(self.text, int(self.starts[span.start]), int(self.ends[span.end - 1]))
            ]
            if start < end
        ]

    def from_characters(self, spans: Sequence[EntitySpan]) -> list[EntitySpan]:
        """Sorted spans of characters as spans of the units that they touch. The first of two spans
        gets a shared unit; the second is shortened or omitted."""
        found = []
        taken = 0
        for start, end, label in self.touched(spans):
            if max(start, taken) < end:
                found.append(EntitySpan(max(start, taken), end, label))
                taken = end
        return found

    def touched(self, spans: Sequence[EntitySpan]) -> list[EntitySpan]:
        """Spans of characters as spans of the units that they touch; they may overlap."""
        starts = np.searchsorted(self.ends, [span.start for span in spans], "right")
        ends = np.searchsorted(self.starts, [span.end for span in spans], "left")
        return [
            EntitySpan(start, end, span.label)
            for span, start, end in zip(spans, starts.tolist(), ends.tolist(), strict=True)
            if start < end
        ]


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The same stretch of a text without white space at its ends; empty if it is nothing else."""
    piece = text[start:end]
    bare = piece.strip()
    start += piece.index(bare)
    return start, start + len(bare)


def token_ends(doc: Doc) -> tuple[Ints, Ints]:
    """[tokens] starts and ends in the text."""
    # Much faster than a loop over tokens.
    lengths, spaces = doc.to_array(["LENGTH", "SPACY"]).astype(np.int64).reshape(-1, 2).T
    starts = np.cumsum(lengths + spaces) - lengths - spaces
    return starts, starts + lengths


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
        ends, commas = (mark.finditer(units.visible) for mark in (SENTENCE_END, COMMA))
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


# Other spellings, of the same length


def lower_capitals(text: str) -> str:
    """Lower-case the lines of a text that are in capitals. The text keeps its length."""
    return LINE.sub(lambda line: _lower(line[0]), text)


def _lower(line: str) -> str:
    words = WORD.findall(line)
    # Chinese characters have no case, so a line of acronyms and Chinese is not in capitals.
    if len(words) < MIN_WORDS or not all(map(str.isupper, "".join(words))):
        return line
    if len(low := line.lower()) == len(line):
        return low
    # "İ" in lower case has two characters.
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in line)


@dataclass(frozen=True)
class Simplifier:
    """Reads traditional characters as the simplified ones that a network was trained on. A text
    keeps its length.

    pairs: each traditional character, followed by the simplified one.
    """

    pairs: str = ""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Simplifier:
        """For a network that is trained on these texts: OpenCC's pairs, except those whose
        traditional character is the more frequent one; none if the texts are mostly traditional."""
        counts = Counter(chain.from_iterable(texts))
        pairs = [(counts[old], counts[new], old + new) for old, new in simplified_pairs()]
        if sum(old for old, _, _ in pairs) >= sum(new for _, new, _ in pairs):
            return cls()
        return cls("".join(pair for old, new, pair in pairs if old <= new))

    def __call__(self, text: str) -> str:
        return text.translate(self._table)

    @cached_property
    def _table(self) -> dict[int, str]:
        return str.maketrans(dict(zip(self.pairs[::2], self.pairs[1::2], strict=True)))


@cache
def converter(config: str) -> Any:
    """OpenCC's, such as "t2s" or "s2tw"."""
    from opencc import OpenCC

    return OpenCC(config)


@cache
def simplified_pairs() -> list[tuple[str, str]]:
    """Traditional characters, each with its simplified one."""
    simplified = converter("t2s").convert("\n".join(_HAN)).split("\n")
    return [pair for pair in zip(_HAN, simplified, strict=True) if pair[0] != pair[1]]
