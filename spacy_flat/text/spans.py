"""The units that networks read of a text, its characters or tokens, and spans of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ..util.arrays import Ints
from .scripts import ZERO_WIDTH, lower_capitals

if TYPE_CHECKING:  # networks use only the arrays
    from spacy.tokens import Doc

Unit = Literal["char", "token"]


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
        """As networks read a Doc: no zero-width characters, lines in capitals in lower case."""
        if unit == "char":
            return cls.visible_characters(doc.text)
        return cls(unit, lower_capitals(doc.text), *token_ends(doc))

    @classmethod
    def visible_characters(cls, text: str) -> Units:
        """The characters of a text, except those of zero width."""
        places = np.arange(len(text))
        if hidden := [match.start() for match in ZERO_WIDTH.finditer(text)]:
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
        if ZERO_WIDTH.search(self.text):
            strings = [ZERO_WIDTH.sub("", string) or string for string in strings]
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
