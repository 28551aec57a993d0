"""Spans that are never entities, at any score."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..text.segments import Segment
from ..text.units import EntitySpan, Units
from ..util.arrays import Bools, Ints

# Line breaks, TAB, "|", zero-width spaces, and tags of markup: closing ones, those with
# attributes, and others in lower case, so that names in angle brackets, such as <NBA>, stay
# possible. In "a<b, 王五=3>c" nothing is an attribute.
_ATTRIBUTE = r"""\s+[A-Za-z][A-Za-z0-9:._-]*=(?:"[^"<>]*"|'[^'<>]*'|[^\s<>"']+)"""
BARRED = re.compile(
    "[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029|｜\u200b\u2060\ufeff]"
    rf"|</[A-Za-z][^<>]*>|<[A-Za-z][\w:.-]*(?:{_ATTRIBUTE})+\s*/?>|<[a-z][\w:.-]*\s*/?>"
)


class Allowed(NamedTuple):
    """Constraints on units: [N] of a text, [B, C] of a batch.

    barred: `BARRED` matches a part of it, so it can't be in an entity.
    letters: it has a letter or a digit. Each entity needs such a unit.
    """

    barred: Bools
    letters: Bools


class Constraints:
    """The constraints on the entities of some texts."""

    def __init__(self, texts: Sequence[Units]) -> None:
        self._texts = texts
        self._may_have_tags = ["<" in text.text for text in texts]
        self._known: dict[int, Allowed] = {}  # by the number of the text

    def violated_by(self, number: int, spans: Sequence[EntitySpan]) -> bool:
        """Whether a span of a text's units violates the constraints."""
        for start, end, _ in spans:
            if not self._is_plain(number, start, end):
                barred, letters = self._of_text(number)
                if barred[start:end].any() or not letters[start:end].any():
                    return True
        return False

    def of_segments(self, segments: Sequence[Segment], width: int) -> Allowed:
        """[segments, width] of their units, and padding."""
        shape = len(segments), width
        padded = Allowed(np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_))
        for row, segment in enumerate(segments):
            for array, whole in zip(padded, self._of_text(segment.text), strict=True):
                array[row, : segment.end - segment.start] = whole[segment.start : segment.end]
        return padded

    def _is_plain(self, number: int, start: int, end: int) -> bool:
        """Whether a span has only letters and spaces, as most entities."""
        text = self._texts[number]
        piece = text.text[text.starts[start] : text.ends[end - 1]]
        return piece.replace(" ", "").isalnum() and not self._may_have_tags[number]

    def _of_text(self, number: int) -> Allowed:
        if number not in self._known:
            self._known[number] = _allowed_in(self._texts[number])
        return self._known[number]


def _allowed_in(text: Units) -> Allowed:
    barred = np.zeros(len(text.text), dtype=np.bool_)
    for match in BARRED.finditer(text.text):
        barred[slice(*match.span())] = True
    letters = np.array([char.isalnum() for char in text.text], dtype=np.bool_)
    return Allowed(*(_any_between(text.starts, text.ends, each) for each in (barred, letters)))


def _any_between(starts: Ints, ends: Ints, flags: Bools) -> Bools:
    """Whether any of flags[start:end] is true, for each start and end."""
    counts = np.append(0, flags.cumsum())
    found: Bools = counts[ends] > counts[starts]
    return found
