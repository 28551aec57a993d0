"""Constrained decoding: which spans of a text may be entities, whatever their scores are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from ..text.segments import Segment
from ..text.units import EntitySpan, Units
from ..util.arrays import Bools, Ints
from .semi_markov import Spans

# Line breaks, TAB, "|", and tags of markup: closing ones, those with
# attributes, and others in lower case, so that names in angle brackets, such as <NBA>, stay
# possible. In "a<b, 王五=3>c" nothing is an attribute.
_ATTRIBUTE = r"""\s+[A-Za-z][A-Za-z0-9:._-]*=(?:"[^"<>]*"|'[^'<>]*'|[^\s<>"']+)"""
BARRED = re.compile(
    "[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029|｜]"
    rf"|</[A-Za-z][^<>]*>|<[A-Za-z][\w:.-]*(?:{_ATTRIBUTE})+\s*/?>|<[a-z][\w:.-]*\s*/?>"
)

_PAIRS = [
    "()",
    "[]",
    "{}",
    "<>",
    "（）",
    "［］",
    "｛｝",
    "〈〉",
    "《》",
    "【】",
    "「」",
    "『』",
    "“”",
    "‘’",
]
_WIDTHS = str.maketrans("（）［］｛｝＂＇", "()[]{}\"'")
_OPENING = {
    pair[1]: pair[0] for pair in (each.translate(_WIDTHS) for each in _PAIRS)
}  # by the closing one
_QUOTES = "\"'`"  # which open and close
_LATIN = "A-Za-z\u00c0-\u024f"
_APOSTROPHES = "'＇’"
# Apostrophes within Latin words, as in O'Brien, aren't quotes.
BRACKET = re.compile(
    rf"[{re.escape(''.join(_PAIRS).replace('’', ''))}\"＂`]"
    rf"|(?<![0-9{_LATIN}])[{_APOSTROPHES}]|[{_APOSTROPHES}](?![{_LATIN}])"
)
_POSSESSIVE = re.compile(rf"(?<=[{_LATIN}])[{_APOSTROPHES}]")


class UnitRules(NamedTuple):
    """What decides which spans of N units may be entities; of a batch with another dimension.

    barred, letters: [N + 1] how many units before a place match `BARRED`, or have a letter or a
        digit. An entity has none of the former and some of the latter.
    before, after: [N] the brackets that are open before and after a unit, as a number. All brackets
        in an entity are matched if these are the same at both ends.
    partners: [N] the unit with the other bracket of a pair, if a unit is a bracket; -1 for an
        unmatched one; other units are their own partners.
    """

    barred: Ints
    letters: Ints
    before: Ints
    after: Ints
    partners: Ints

    def of_segment(self, start: int, end: int) -> UnitRules:
        """With partners by their position in the segment; negative for those before it."""
        sums = (each[start : end + 1] for each in (self.barred, self.letters))
        units = (each[start:end] for each in (self.before, self.after, self.partners - start))
        return UnitRules(*sums, *units)

    @classmethod
    def padded(cls, rows: Sequence[UnitRules], width: int) -> UnitRules:
        """[rows, width] of their units, [rows, width + 1] of places."""
        arrays = [np.zeros((len(rows), width + 1), np.int64) for _ in cls._fields]
        for row, given in enumerate(rows):
            for array, own in zip(arrays, given, strict=True):
                array[row, : len(own)] = own
        return cls(*arrays)

    def allow(self, spans: Spans) -> Bools:
        """[N] which of a batch's spans may be entities."""
        rows, starts, ends, _ = spans
        has_letter = self.letters[rows, ends] > self.letters[rows, starts]
        is_free = self.barred[rows, ends] == self.barred[rows, starts]
        is_matched = self.before[rows, starts] == self.after[rows, ends - 1]
        allowed: Bools = has_letter & is_free & is_matched
        return allowed

    def trim(self, spans: Spans) -> Spans:
        """A batch's spans without brackets at their ends whose partners are not in them."""
        rows, starts, ends, labels = spans
        starts, ends = starts.copy(), ends.copy()
        changing = np.arange(len(rows))
        while len(changing):
            row, start, end = rows[changing], starts[changing], ends[changing]
            first, last = self.partners[row, start], self.partners[row, end - 1]
            closes = (last < start) & (end - start > 1)
            opens = ((first >= end) | (first < 0)) & (end - start > 1 + closes)
            starts[changing] += opens
            ends[changing] -= closes
            changing = changing[opens | closes]
        return Spans(rows, starts, ends, labels)


class Rules:
    """The rules for some texts."""

    def __init__(self, texts: Sequence[Units]) -> None:
        self._texts = texts
        self._known: dict[int, UnitRules] = {}  # by the number of the text

    def violated_by(self, number: int, spans: Sequence[EntitySpan]) -> bool:
        """Whether a span of a text's units may not be an entity."""
        unsure = [span for span in spans if not self._is_plain(number, span)]
        if not unsure:
            return False
        rules = UnitRules.padded([self.of_text(number)], len(self._texts[number]))
        return not rules.allow(Spans.of([(0, start, end, 0) for start, end, _ in unsure])).all()

    def has_brackets(self, segment: Segment) -> bool:
        text = self._texts[segment.text]
        start, end = int(text.starts[segment.start]), int(text.ends[segment.end - 1])
        return BRACKET.search(text.text, start, end) is not None

    def of_segments(self, segments: Sequence[Segment], width: int) -> UnitRules:
        """[segments, width] of their units, and padding."""
        own = [self.of_text(each.text).of_segment(each.start, each.end) for each in segments]
        return UnitRules.padded(own, width)

    def _is_plain(self, number: int, span: EntitySpan) -> bool:
        """Whether a span has only letters and spaces, as most entities, and is in no tag."""
        text = self._texts[number]
        piece = text.text[text.starts[span.start] : text.ends[span.end - 1]]
        return piece.replace(" ", "").isalnum() and "<" not in text.text

    def of_text(self, number: int) -> UnitRules:
        if number not in self._known:
            self._known[number] = _rules_of(self._texts[number])
        return self._known[number]


def _rules_of(text: Units) -> UnitRules:
    n = len(text.text)
    barred = np.zeros(n, np.bool_)
    for match in BARRED.finditer(text.text):
        barred[slice(*match.span())] = True
    letters = np.array([char.isalnum() for char in text.text], np.bool_)
    within = [np.append(0, each.cumsum()) for each in (barred, letters)]
    barred_before, letters_before = (
        np.append(0, (each[text.ends] > each[text.starts]).cumsum()) for each in within
    )
    open_at, partners = _brackets(text.text)
    own = np.arange(len(text))
    for place, partner in partners.items():
        unit = int(np.searchsorted(text.ends, place, "right"))
        if text.ends[unit] - text.starts[unit] == 1:
            own[unit] = np.searchsorted(text.ends, partner, "right") if partner >= 0 else -1
    return UnitRules(barred_before, letters_before, open_at[text.starts], open_at[text.ends], own)


def _brackets(text: str) -> tuple[Ints, dict[int, int]]:
    """[characters + 1] a number for the brackets that are open at a place; and the place of each
    bracket's partner, -1 for none.

    No pair goes over a line's end. What surrounds an unmatched bracket counts as unmatched, too.
    """
    numbers = count(1)
    changes, values = [0], [0]
    stack: list[list[int]] = []  # place, number before
    partners: dict[int, int] = {}
    now = 0
    for match in BRACKET.finditer(text):
        place, mark = match.start(), match.group().translate(_WIDTHS)
        if stack and "\n" in text[stack[0][0] : place]:
            stack.clear()
            now = next(numbers)
            changes.append(place)
            values.append(now)
        opening = mark if mark in _QUOTES else _OPENING.get(mark, "")
        open_marks = [text[start].translate(_WIDTHS) for start, _ in stack]
        is_clean = True
        if opening in open_marks:
            depth = len(stack) - 1 - open_marks[::-1].index(opening)
            is_clean = depth == len(stack) - 1
            partner, before = stack[depth]
            partners[place], partners[partner] = partner, place
            del stack[depth:]
            now = before if is_clean else next(numbers)
        elif _POSSESSIVE.match(text, place):
            continue
        else:
            is_clean = not opening or mark in _QUOTES
            partners[place] = -1
            if is_clean:
                stack.append([place, now])
            now = next(numbers)
        if not is_clean:
            for each in stack:
                each[1] = next(numbers)
        changes.append(place + 1)
        values.append(now)
    lengths = np.diff([*changes, len(text) + 1])
    return np.repeat(values, lengths), partners
