"""Names that are to survive translation: what each is called in the target language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Protected:
    """A name in a source text, and how the translation is to write it.

    start, end: characters of the source.
    text: the name in the target language.
    label: that of the entity; empty where it is not known.
    """

    start: int
    end: int
    text: str
    label: str = ""


def mark(source: str, target: str, names: Mapping[str, str]) -> list[Protected]:
    """The names of a training pair: those of a list that stand in the source, and whose
    translations stand in the target, each as often as on both sides."""
    found = list(find_names(source, names))
    return [
        name for name, place in zip(found, places(target, found), strict=True) if place is not None
    ]


def find_names(text: str, names: Mapping[str, str]) -> Iterator[Protected]:
    """The names of a list in a text, from left to right, of those at one place the longest."""
    lengths = sorted({len(name) for name in names}, reverse=True)
    start = 0
    while start < len(text):
        ends = (start + length for length in lengths)
        end = next((end for end in ends if text[start:end] in names), None)
        if end is None:
            start += 1
        else:
            yield Protected(start, end, names[text[start:end]])
            start = end


def places(target: str, names: Sequence[Protected]) -> list[tuple[int, int] | None]:
    """Where the texts of names stand in a translation, as whole words: (start, end) in characters,
    no two overlapping, or None for one that is missing. Longer names are looked for first."""
    found: list[tuple[int, int] | None] = [None] * len(names)
    for number in sorted(range(len(names)), key=lambda number: -len(names[number].text)):
        taken = [place for place in found if place is not None]
        wanted = re.compile(rf"(?<!\w){re.escape(names[number].text)}(?!\w)")
        spans = (match.span() for match in wanted.finditer(target))
        found[number] = next((span for span in spans if not _overlaps(span, taken)), None)
    return found


def _overlaps(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
