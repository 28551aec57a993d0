"""Split texts into the parts to translate: sentences, or pieces of long ones."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..text.units import stripped
from ..util.characters import HAN
from .featuriser import Slot, TranslationFeaturiser
from .names import LATIN, Protected
from .numbers import half_width, numbers

SENTENCE_END = re.compile(r"""[。！？!?]+[”’」』）)"']*|\n""")
LOOSE = frozenset(", ")
# Digits beside Chinese numerals that couldn't be read together (20几万) aren't copied alone.
PART_OF_NUMERAL = re.compile(r"(?<=[十百千万亿])\d[\d.,]*|\d[\d.,]*(?=[多余几]?[十百千万亿])")
MARKS = str.maketrans("。，、；：！？（）“”‘’", ".,,;:!?()\"\"''")  # as English writes them
COMMA = re.compile(r"[，；、：,;:]|\s")


class TextPart(NamedTuple):
    """Characters [start, end) of a text, without white space at their ends, and the names in them,
    left to right, each with its number as its placeholder."""

    start: int
    end: int
    names: tuple[Protected, ...]

    @property
    def slots(self) -> list[Slot]:
        """The places of the names, counted from the part's start."""
        return [
            Slot(name.start - self.start, name.end - self.start, number)
            for number, name in enumerate(self.names)
        ]

    def is_copied(self, text: str) -> bool:
        """Whether there is no letter or digit outside of names."""
        starts = [self.start, *(name.end for name in self.names)]
        ends = [*(name.start for name in self.names), self.end]
        between = (text[start:end] for start, end in zip(starts, ends, strict=True))
        return not any(each.isalnum() for stretch in between for each in stretch)


def split(
    text: str, names: Sequence[Protected], featuriser: TranslationFeaturiser
) -> list[TextPart]:
    """The parts of a text, except blank ones.

    Sentences end at 。！？ and at line ends, but not within a word such as a URL. Those with more
    than `max_length` characters, or more names than placeholders, are cut after a comma if
    possible, and never within a name. Numbers, words in Latin letters and unknown characters,
    unless Chinese, count as names, with English punctuation.

    names: sorted, without overlaps.
    """
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    words = list(latin_words(text))
    names = without_overlaps(names, numbers(text))
    ends = sorted({*_outside(_outside(ends, names), words), len(text)})
    names = sorted([*names, *_copied(text, names, ends, featuriser)], key=lambda name: name.start)
    starts = [name.start for name in names]
    parts = []
    start = 0
    for end in ends:
        own = names[bisect_left(starts, start) : bisect_left(starts, end)]
        parts += list(_cut(text, start, end, own, featuriser))
        start = end
    return parts


def gap(text: str, before: TextPart, after: TextPart) -> str:
    """The separator of two translated parts: the line ends of the text, or a space."""
    return "\n" * text.count("\n", before.end, after.start) or " "


def _cut(
    text: str, start: int, end: int, names: Sequence[Protected], featuriser: TranslationFeaturiser
) -> Iterator[TextPart]:
    options = featuriser.options
    commas: list[int] | None = None
    first = 0  # of the names after `start`
    while end - start > options.max_length or len(names) - first > options.placeholders:
        limit = min(start + options.max_length, end)
        if len(names) - first > options.placeholders:
            limit = min(limit, names[first + options.placeholders].start)
        if commas is None:
            found = [match.end() for match in COMMA.finditer(text, start, end)]
            commas = _outside(found, names)
        place = bisect_right(commas, limit)
        if place and commas[place - 1] > start:
            limit = commas[place - 1]
        else:
            last = _n_before(limit, names) - 1
            if last >= first and names[last].end > limit:
                crossing = names[last]
                limit = crossing.start if crossing.start > start else crossing.end
        following = _n_before(limit, names)
        yield from _part(text, start, limit, names[first:following])
        start, first = limit, following
        if start == end:
            return
    yield from _part(text, start, end, names[first:])


def latin_words(text: str) -> Iterator[Protected]:
    """Words in Latin letters and numbers, which English writes alike."""
    for word in LATIN.finditer(half_width(text)):
        part = PART_OF_NUMERAL.match(text, word.start())
        if part is None or part.end() < word.end():
            yield Protected(*word.span(), word[0])


def without_overlaps(names: Sequence[Protected], others: Iterable[Protected]) -> list[Protected]:
    """Names, and those of the others that don't overlap with them, in order."""
    taken = {place for name in names for place in range(name.start, name.end)}
    free = [each for each in others if taken.isdisjoint(range(each.start, each.end))]
    return sorted([*names, *free], key=lambda name: name.start)


def _part(text: str, start: int, end: int, names: Sequence[Protected]) -> Iterator[TextPart]:
    start, end = stripped(text, start, end)
    if start < end:
        yield TextPart(start, end, tuple(names))


def _n_before(place: int, names: Sequence[Protected]) -> int:
    """The number of names that begin before a place."""
    return bisect_left(names, place, key=lambda name: name.start)


def _outside(places: Sequence[int], names: Sequence[Protected]) -> list[int]:
    """The places that aren't within a name."""
    ends = [name.end for name in names]
    found = []
    for place in places:
        number = bisect_right(ends, place)
        if number == len(names) or names[number].start >= place:
            found.append(place)
    return found


def _copied(
    text: str, names: Sequence[Protected], ends: Sequence[int], featuriser: TranslationFeaturiser
) -> Iterator[Protected]:
    """Stretches of unknown non-Chinese characters, words in Latin letters and numbers, within
    sentences."""
    taken = {place for name in names for place in range(name.start, name.end)}
    found = {place for place in featuriser.unknown(text).tolist() if not HAN.match(text[place])}
    for word in latin_words(text):
        found.update(range(word.start, word.end))
    text = half_width(text)
    borders = set(ends)
    start = end = 0
    for place in [*sorted(found - taken), len(text) + 1]:
        if place != end or place in borders:
            # A name may have cut the stretch at marks or spaces.
            while start < end and text[start] in LOOSE:
                start += 1
            while start < end and text[end - 1] in LOOSE:
                end -= 1
            if start < end:
                yield Protected(start, end, text[start:end].translate(MARKS))
            start = place
        end = place + 1
