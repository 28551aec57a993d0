"""Pairs of texts for training, with placeholders for names that stand on both sides."""

import random
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spacy.training import Example

from ..text.spans import Units
from .featuriser import TranslationFeaturiser, between
from .model import IdPair
from .names import NameTable, Placeholder
from .numbers import latin_words
from .pinyin import DIVISIONS
from .placeholders import with_numbers, without

Span = tuple[int, int]


class Texts(NamedTuple):
    """A text and its translation."""

    source: str
    target: str


def all_texts(examples: Iterable[Example]) -> list[Texts]:
    """The texts of examples with normalised white space, except those without one on each side."""
    found = []
    for example in examples:
        target = " ".join((example.reference._.translation or "").split())
        source = Units.visible_characters(example.predicted.text).visible.strip()
        if source and target:
            found.append(Texts(source, target))
    return found


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
    drawn = draw_spans(texts, names, share, most) if names is not None else []
    numbers = list(range(len(drawn)))
    if drawn and random.random() < 0.5:
        numbers = sorted(random.sample(range(most), len(drawn)))
    source = [(*own, number) for number, (own, _) in zip(numbers, drawn, strict=True)]
    target = [(*other, number) for number, (_, other) in zip(numbers, drawn, strict=True)]
    return IdPair(
        featuriser.source_ids(between(texts.source, source)),
        featuriser.target_ids(between(texts.target, sorted(target))),
    )


def draw_spans(texts: Texts, names: NameTable, share: float, most: int) -> list[tuple[Span, Span]]:
    """The names to replace with placeholders: their places in source (in order) and target."""
    if not share:
        return []
    found = possible_names(texts.source, names)
    pairs = [
        (name.span, place)
        for name, place in zip(found, places(texts.target, found), strict=True)
        if place is not None and random.random() < share
    ]
    return pairs[:most]


def possible_names(source: str, names: NameTable) -> list[Placeholder]:
    """Names of the list, numbers and words that both sides may write alike, left to right, except
    the beginning of a division's name (华盛顿州)."""
    divisions = tuple(DIVISIONS)
    listed = [name for name in names.find(source) if not source.startswith(divisions, name.end)]
    found = with_numbers(source, listed)
    words = (word for word in latin_words(without(source, found)) if len(word.text) > 1)
    return sorted([*found, *words], key=lambda name: name.start)  # not "a" and "I"


def places(target: str, names: Sequence[Placeholder]) -> list[Span | None]:
    """The places of names in a translation, as whole words: (start, end) in characters, without
    overlaps, or None for a missing one. Searches longer names first."""
    found: list[Span | None] = [None] * len(names)
    for number in sorted(range(len(names)), key=lambda number: -len(names[number].text)):
        wanted = re.compile(rf"(?<!\w){re.escape(names[number].text)}(?!\w)")
        spans = (match.span() for match in wanted.finditer(target))
        taken = [place for place in found if place is not None]
        free = (span for span in spans if all(span[1] <= a or b <= span[0] for a, b in taken))
        found[number] = next(free, None)
    return found
