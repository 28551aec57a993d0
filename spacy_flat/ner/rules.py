"""Constrained decoding: which spans of a text may be entities, whatever their scores are."""

from __future__ import annotations

import re
from itertools import count
from typing import NamedTuple

import numpy as np

from ..text.units import Units
from ..util.arrays import Bools, Ints

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
    """What decides which stretches of N units may be entities.

    barred, letters: [N + 1] how many units before a place match `BARRED`, or have a letter or a
        digit. An entity has none of the former and some of the latter.
    before, after: [N] the brackets that are open before and after a unit, as a number. All brackets
        in an entity are matched if these are the same at both ends.
    partners: [N] for a bracket, the unit with the matching one, or -1 if there is none; for any
        other unit, itself. None for a text without brackets.
    """

    barred: Ints
    letters: Ints
    before: Ints
    after: Ints
    partners: Ints | None

    def of_segment(self, start: int, end: int) -> UnitRules:
        """With partners by their position in the segment; negative for those before it."""
        barred, letters = (each[start : end + 1] for each in (self.barred, self.letters))
        before, after = self.before[start:end], self.after[start:end]
        partners = None if self.partners is None else self.partners[start:end] - start
        return UnitRules(barred, letters, before, after, partners)

    @property
    def allowed(self) -> Bools:
        """[N + 1, N] whether an entity may have this end and start."""
        allowed = self.letters[:, None] > self.letters[:-1]
        allowed &= self.barred[:, None] == self.barred[:-1]
        allowed[1:] &= self.after[:, None] == self.before
        return allowed

    def trims(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The starts and ends of stretches with brackets at their ends whose partners are not in
        them; and the starts and ends without these."""
        if self.partners is None:
            return (np.zeros(0, np.int64),) * 4
        n = len(self.partners)
        is_bracket = self.partners != np.arange(n)
        all_starts, lasts = np.nonzero(np.triu(is_bracket[:, None] | is_bracket))
        starts, ends = all_starts.copy(), lasts + 1
        changing = np.arange(len(starts))
        while len(changing):
            start, end = starts[changing], ends[changing]
            first, last = self.partners[start], self.partners[end - 1]
            closes = (last < start) & (end - start > 1)
            opens = ((first >= end) | (first < 0)) & (end - start > 1 + closes)
            starts[changing] += opens
            ends[changing] -= closes
            changing = changing[opens | closes]
        moved = (starts != all_starts) | (ends != lasts + 1)
        return all_starts[moved], lasts[moved] + 1, starts[moved], ends[moved]


def rules_of(text: Units) -> UnitRules:
    """The rules for a text."""
    n = len(text.text)
    barred = np.zeros(n, np.bool_)
    for match in BARRED.finditer(text.text):
        barred[slice(*match.span())] = True
    letters = np.array([char.isalnum() for char in text.text], np.bool_)
    within = [np.append(0, each.cumsum()) for each in (barred, letters)]
    barred_before, letters_before = (
        np.append(0, (each[text.ends] > each[text.starts]).cumsum()) for each in within
    )
    if not BRACKET.search(text.text):
        none = np.zeros(len(text), np.int64)
        return UnitRules(barred_before, letters_before, none, none, None)
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
