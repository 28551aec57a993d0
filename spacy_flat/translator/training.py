"""Pairs of texts for training, with placeholders for names that stand on both sides."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spacy.training import Example

from .annotations import gold_translation
from .featuriser import Slot, TranslationFeaturiser
from .model import IdPair
from .names import DIVISIONS, NameTable, Protected, places
from .numbers import numbers
from .sentences import latin_words, without_overlaps

Span = tuple[int, int]


class Texts(NamedTuple):
    """A text and its translation."""

    source: str
    target: str


def texts_of(example: Example) -> Texts | None:
    """The texts of an example with normalised white space; None if one is missing or blank. Raises
    TypeError (F407) for a translation that isn't a string."""
    target = gold_translation(example.reference)
    source = example.predicted.text.strip()
    target = " ".join(target.split()) if target else ""
    return Texts(source, target) if source and target else None


def all_texts(examples: Iterable[Example]) -> list[Texts]:
    return [texts for texts in map(texts_of, examples) if texts is not None]


def joined(pairs: Sequence[Texts], share: float, longest: int) -> list[Texts]:
    """Join some random pairs with the one before, so that the network learns longer texts with more
    names (Kondo et al., 2021).

    share: of the pairs to join, if the one before doesn't end with a word.
    longest: maximum characters of a side.
    """
    found: list[Texts] = []
    for pair in pairs:
        if found and share and random.random() < share and not found[-1].source[-1].isalnum():
            both = Texts(found[-1].source + pair.source, f"{found[-1].target} {pair.target}")
            if max(map(len, both)) <= longest:
                found[-1] = both
                continue
        found.append(pair)
    return found


def encode(
    texts: Texts,
    featuriser: TranslationFeaturiser,
    names: NameTable | None = None,
    share: float = 0.0,
) -> IdPair:
    """A pair of texts as ids.

    names: the list of names.
    share: of the names on both sides to replace with placeholders. Half of the time these are the
        first ones, as in prediction, otherwise random ones, so that the network learns them all; in
        the order of the source.
    """
    most = featuriser.options.placeholders
    slots = draw_slots(texts, names, share, most) if names is not None else []
    numbers = list(range(len(slots)))
    if slots and random.random() < 0.5:
        numbers = sorted(random.sample(range(most), len(slots)))
    source = [Slot(*own, number) for number, (own, _) in zip(numbers, slots, strict=True)]
    target = [Slot(*other, number) for number, (_, other) in zip(numbers, slots, strict=True)]
    return IdPair(
        featuriser.source_ids(texts.source, source),
        featuriser.target_ids(texts.target, sorted(target)),
    )


def draw_slots(texts: Texts, names: NameTable, share: float, most: int) -> list[tuple[Span, Span]]:
    """The names to replace with placeholders: their places in source and target, in the order of
    the source."""
    if not share:
        return []
    found = possible_names(texts.source, names)
    pairs = [
        ((name.start, name.end), place)
        for name, place in zip(found, places(texts.target, found), strict=True)
        if place is not None and random.random() < share
    ]
    return pairs[:most]


def possible_names(source: str, names: NameTable) -> list[Protected]:
    """Names of the list, numbers and words that both sides may write alike, left to right, except
    the beginning of a division's name (华盛顿州)."""
    divisions = tuple(DIVISIONS)
    listed = [name for name in names.find(source) if not source.startswith(divisions, name.end)]
    words = (word for word in latin_words(source) if len(word.text) > 1)  # not "a" and "I"
    return without_overlaps(without_overlaps(listed, numbers(source)), words)
