"""Pairs of texts for training, with placeholders for names that stand on both sides."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spacy.training import Example

from .annotations import gold_translation
from .model import Pair
from .names import DIVISIONS, LATIN, NameTable, Protected, places
from .sentences import may_change
from .vocabulary import PairFeaturiser, Slot

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


def joined(pairs: Sequence[Texts], share: float, longest: int) -> list[Texts]:
    """Pairs of which some, drawn by chance, are made one with those before them, so that the
    network learns longer texts with more names than the corpus has (Kondo et al., 2021).

    share: of the pairs that are joined with the one before, if that does not end with a word.
    longest: no side is made longer than so many characters.
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
    texts: Texts, featuriser: PairFeaturiser, names: NameTable | None = None, share: float = 0.0
) -> Pair:
    """A pair of texts as numbers.

    names: what names are called in the target language.
    share: of the names on both sides, so many are made placeholders, drawn by chance. Half of the
        times these are the first ones, as in prediction, else they are drawn, too, so that all of
        them are learnt, however few names a sentence has; in the order of the source.
    """
    most = featuriser.options.placeholders
    slots = draw_slots(texts, names, share, most) if names is not None else []
    numbers = list(range(len(slots)))
    if random.random() < 0.5:
        numbers = sorted(random.sample(range(most), len(slots)))
    source = [Slot(*own, number) for number, (own, _) in zip(numbers, slots, strict=True)]
    target = [Slot(*other, number) for number, (_, other) in zip(numbers, slots, strict=True)]
    return Pair(
        featuriser.source_keys(texts.source, source),
        featuriser.target_keys(texts.target, sorted(target)),
    )


def draw_slots(texts: Texts, names: NameTable, share: float, most: int) -> list[tuple[Span, Span]]:
    """Names to make placeholders of: where they stand in the source and in the target, in the order
    of the source."""
    if not share:
        return []
    found = list(possible_names(texts.source, names))
    pairs = [
        ((name.start, name.end), place)
        for name, place in zip(found, places(texts.target, found), strict=True)
        if place is not None and random.random() < share
    ]
    return pairs[:most]


def possible_names(source: str, names: NameTable) -> Iterator[Protected]:
    """Names of the list, and what may be written alike on both sides, from left to right. What
    begins the name of a division (华盛顿州) is left out."""
    divisions = tuple(DIVISIONS)
    listed = [name for name in names.find(source) if not source.startswith(divisions, name.end)]
    taken = {place for name in listed for place in range(name.start, name.end)}
    same = (
        Protected(*match.span(), match[0])
        for match in LATIN.finditer(source)
        if taken.isdisjoint(range(*match.span()))
        if len(match[0]) > 1  # "a" and "I" are words of English
        if not may_change(source, *match.span())
    )
    yield from sorted([*listed, *same], key=lambda name: name.start)
