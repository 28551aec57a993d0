"""Pairs of texts for training, with placeholders for names that stand on both sides."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from spacy.training import Example

from .annotations import gold_translation
from .model import Pair
from .names import Protected, find_names, places
from .vocabulary import PairEncoder, Slot

# What is written alike on both sides: words in Latin letters, and numbers.
SAME = re.compile(r"[A-Za-z][A-Za-z0-9]+|\d+")


Span = tuple[int, int]


class Texts(NamedTuple):
    """A text and its translation."""

    source: str
    target: str


def texts_of(example: Example) -> Texts | None:
    """The texts of an example, white space as it comes out of translating; None where one is
    wanting or blank. Raises TypeError (F407) for a translation that is no string."""
    target = gold_translation(example.reference)
    source = example.predicted.text.strip()
    target = " ".join(target.split()) if target else ""
    return Texts(source, target) if source and target else None


def all_texts(examples: Iterable[Example]) -> list[Texts]:
    return [texts for texts in map(texts_of, examples) if texts is not None]


def encode(
    texts: Texts, encoder: PairEncoder, names: Mapping[str, str] | None = None, share: float = 0.0
) -> Pair:
    """A pair of texts as numbers.

    names: what names are called in the target language.
    share: of the names on both sides, so many are made placeholders, drawn by chance.
    """
    slots = draw_slots(texts, names or {}, share, encoder.options.placeholders)
    source = [Slot(*own, number) for number, (own, _) in enumerate(slots)]
    target = [Slot(*other, number) for number, (_, other) in enumerate(slots)]
    return Pair(
        encoder.source_keys(texts.source, source),
        encoder.target_keys(texts.target, sorted(target)),
    )


def draw_slots(
    texts: Texts, names: Mapping[str, str], share: float, most: int
) -> list[tuple[Span, Span]]:
    """Names to make placeholders of: where they stand in the source and in the target, in the order
    of the source."""
    if not share:
        return []
    found = list(candidates(texts.source, names))
    pairs = [
        ((name.start, name.end), place)
        for name, place in zip(found, places(texts.target, found), strict=True)
        if place is not None and random.random() < share
    ]
    return pairs[:most]


def candidates(source: str, names: Mapping[str, str]) -> Iterator[Protected]:
    """Names of the list, and what may be written alike on both sides, from left to right."""
    listed = list(find_names(source, names)) if names else []
    taken = {place for name in listed for place in range(name.start, name.end)}
    same = (
        Protected(*match.span(), match[0])
        for match in SAME.finditer(source)
        if taken.isdisjoint(range(*match.span()))
    )
    yield from sorted([*listed, *same], key=lambda name: name.start)
