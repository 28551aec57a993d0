"""Split texts into the parts to translate: sentences, or pieces of long ones."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..text.units import stripped
from .featuriser import Stretches, TranslationFeaturiser, between
from .names import Placeholder

SENTENCE_END = re.compile(r"""[。！？!?]+[”’」』】〕）)"']*|\n""")
COMMA = re.compile(r"[，；、：,;:]|\s")


class TextPart(NamedTuple):
    """Characters [start, end) of a text, without white space at their ends, and the names in them,
    left to right, each with its number as its placeholder."""

    start: int
    end: int
    names: tuple[Placeholder, ...]

    def stretches(self, text: str) -> Stretches:
        slots = [(*name.span, number) for number, name in enumerate(self.names)]
        return between(text, slots, self.start, self.end)


def split(
    text: str, names: Sequence[Placeholder], featuriser: TranslationFeaturiser
) -> list[TextPart]:
    """The parts of a text, except blank ones.

    Sentences end at 。！？ and at line ends, but not within a name. Those with more than
    `max_length` characters, or more names than placeholders, are cut after a comma if possible, and
    never within a name.

    names: sorted, without overlaps.
    """
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    parts = []
    start = 0
    for end in [*_outside(ends, names), len(text)]:
        own = names[_n_before(start, names) : _n_before(end, names)]
        parts += list(_cut(text, start, end, own, featuriser))
        start = end
    return parts


def gap(text: str, before: TextPart, after: TextPart) -> str:
    """The separator of two translated parts: the line ends of the text, or a space."""
    return "\n" * text.count("\n", before.end, after.start) or " "


def _cut(
    text: str, start: int, end: int, names: Sequence[Placeholder], featuriser: TranslationFeaturiser
) -> Iterator[TextPart]:
    options = featuriser.options
    commas = _outside([match.end() for match in COMMA.finditer(text, start, end)], names)
    first = 0  # of the names after `start`
    while end - start > options.max_length or len(names) - first > options.placeholders:
        limit = min(start + options.max_length, end)
        if len(names) - first > options.placeholders:
            limit = min(limit, names[first + options.placeholders].span[0])
        place = bisect_right(commas, limit)
        if place and commas[place - 1] > start:
            limit = commas[place - 1]
        following = _n_before(limit, names)
        if following > first and names[following - 1].span[1] > limit:
            before, after = names[following - 1].span
            limit = before if before > start else after
            following = _n_before(limit, names)
        yield from _part(text, start, limit, names[first:following])
        start, first = limit, following
    yield from _part(text, start, end, names[first:])


def _n_before(place: int, names: Sequence[Placeholder]) -> int:
    """The number of names that begin before a place."""
    return bisect_left(names, place, key=lambda name: name.span[0])


def _part(text: str, start: int, end: int, names: Sequence[Placeholder]) -> Iterator[TextPart]:
    start, end = stripped(text, start, end)
    if start < end:
        yield TextPart(start, end, tuple(names))


def _outside(places: Sequence[int], names: Sequence[Placeholder]) -> list[int]:
    """The places that aren't within a name."""
    ends = [name.span[1] for name in names]
    found = []
    for place in places:
        number = bisect_right(ends, place)
        if number == len(names) or names[number].span[0] >= place:
            found.append(place)
    return found
