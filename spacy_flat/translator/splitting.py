"""Translate whole texts, part by part: sentences, or pieces of long ones."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..text.scripts import CLOSING, SENTENCE_ENDS
from ..text.spans import Units, stripped
from .decoding import BeamSearch, Source
from .featuriser import Stretches, TranslationFeaturiser, between
from .model import Seq2SeqModel, featuriser_of, generate
from .names import Placeholder
from .options import TranslationOptions
from .placeholders import MARKS
from .scores import TranslationEnt

SENTENCE_END = re.compile(rf"[{SENTENCE_ENDS}]+[{CLOSING}】〕]*|\n")
COMMA = re.compile(r"[，；、：,;:]|\s")
_SPACES = re.compile(" +")

Written = tuple[str, list[tuple[int, int]]]  # a translation, and the places of its names


@dataclass(frozen=True)
class Translation:
    """A translation of a text.

    score: the sum of the scores of its sentences, log-probabilities divided by a length penalty.
    ents: the carried names with a label, in order.
    """

    text: str
    score: float
    ents: tuple[TranslationEnt, ...]


def translate(
    model: Seq2SeqModel,
    texts: Sequence[Units],
    names: Sequence[Sequence[Placeholder]],
    how: BeamSearch,
) -> list[Translation]:
    """Translate texts.

    names: what each text carries, sorted, without overlaps.
    """
    featuriser = featuriser_of(model)
    parts = [split(text.visible, own, featuriser) for text, own in zip(texts, names, strict=True)]
    sources = [
        [_source(text.visible, part, featuriser) for part in own]
        for text, own in zip(texts, parts, strict=True)
    ]
    # Translate equal sentences once.
    distinct = {source.ids.tobytes(): source for own in sources for source in own if source}
    best = dict(zip(distinct, generate(model, list(distinct.values()), how), strict=True))
    translations = []
    for text, own_parts, own_sources in zip(texts, parts, sources, strict=True):
        score, written = 0.0, []
        for part, source in zip(own_parts, own_sources, strict=True):
            if source:
                found = best[source.ids.tobytes()]
                score += found.score
                stretches = featuriser.stretches(found.ids)
            else:  # only names, with the white space and marks between them
                own = part.stretches(text.visible)
                stretches = [
                    each.translate(MARKS) if isinstance(each, str) else each for each in own
                ]
            written.append(with_names(stretches, part.names))
        translations.append(_joined(text, own_parts, score, written))
    return translations


def _source(text: str, part: TextPart, featuriser: TranslationFeaturiser) -> Source | None:
    """None without a letter or digit outside of names: the part is copied."""
    stretches = part.stretches(text)
    if not any(map(str.isalnum, "".join(each for each in stretches if isinstance(each, str)))):
        return None
    return Source(featuriser.source_ids(stretches), len(part.names))


def with_names(stretches: Stretches, names: Sequence[Placeholder]) -> Written:
    """Join a translation, without white space at its ends. Returns its text, and the place of each
    name: (start, end) in characters.

    A space separates words, and names from punctuation before them. An entity is a word whatever it
    begins and ends with (Yahoo!, .NET); other texts are where they begin or end with a letter or a
    digit. The full stop of a name (3 p.m.) also ends a sentence.
    """
    text = ""
    places = [(0, 0)] * len(names)
    ends_with_word = after_name = False
    for each in stretches:
        name = names[each] if isinstance(each, int) else None
        is_entity = name is not None and bool(name.label or name.around)
        spelled = name.written if name else _SPACES.sub(" ", str(each))
        if not text or text.endswith(" "):
            spelled = spelled.lstrip(" ")
        if after_name and text.endswith("."):
            spelled = spelled.removeprefix(".")
        after_name = name is not None
        if not spelled:
            continue
        is_word = is_entity or spelled[0].isalnum()
        if is_word and (ends_with_word or (name and text.endswith(tuple(",;:.!?")))):
            text += " "
        text += spelled
        if name:
            is_within = bool(name.around)
            places[int(each)] = len(text) - len(spelled) + is_within, len(text) - is_within
        ends_with_word = is_entity or spelled[-1].isalnum()
    return text.rstrip(), places


def _joined(
    text: Units, parts: Sequence[TextPart], score: float, written: Sequence[Written]
) -> Translation:
    whole = ""
    ents = []
    for number, (part, (own, places)) in enumerate(zip(parts, written, strict=True)):
        if number:
            whole += gap(text.visible, parts[number - 1], part)
        for name, (first, last) in zip(part.names, places, strict=True):
            if name.label:
                place = int(text.starts[name.start]), int(text.ends[name.end - 1])
                start, end = len(whole) + first, len(whole) + last
                ents.append(TranslationEnt(name.text, name.label, start, end, place))
        whole += own
    ents.sort(key=lambda ent: (ent.start, ent.end))
    return Translation(whole, score, tuple(ents))


# Parts


class TextPart(NamedTuple):
    """Characters [start, end) of a text, without white space at their ends, and the names in them,
    left to right, each with its number as its placeholder."""

    start: int
    end: int
    names: tuple[Placeholder, ...]

    def stretches(self, text: str) -> Stretches:
        slots = [(*name.span, number) for number, name in enumerate(self.names)]
        return between(text, slots, self.start, self.end)


def split(
    text: str, names: Sequence[Placeholder], featuriser: TranslationFeaturiser
) -> list[TextPart]:
    """The parts of a text, except blank ones.

    Sentences end at 。！？ and at line ends, but not within a name. Those with more than
    `max_length` characters, or more names than placeholders, are cut after a comma if possible, and
    never within a name.

    names: sorted, without overlaps.
    """
    within = {place for name in names for place in range(name.span[0] + 1, name.span[1])}
    ends = [match.end() for match in SENTENCE_END.finditer(text) if match.end() not in within]
    commas = [match.end() for match in COMMA.finditer(text) if match.end() not in within]
    parts = []
    start = first = 0  # of the names
    for end in [*ends, len(text)]:
        while start < end:
            near = names[first : first + featuriser.options.placeholders + 1]
            limit = _limit(start, end, near, commas, featuriser.options)
            following = bisect_left(names, limit, first, key=lambda name: name.span[0])
            bare = stripped(text, start, limit)
            if bare[0] < bare[1]:
                parts.append(TextPart(*bare, tuple(names[first:following])))
            start, first = limit, following
    return parts


def gap(text: str, before: TextPart, after: TextPart) -> str:
    """The separator of two translated parts: the line ends of the text, or a space."""
    return "\n" * text.count("\n", before.end, after.start) or " "


def _limit(
    start: int,
    end: int,
    names: Sequence[Placeholder],
    commas: Sequence[int],
    options: TranslationOptions,
) -> int:
    """The end of the part of a sentence that begins at `start`.

    names: from there on, one more than there are placeholders.
    commas: the places after all commas.
    """
    limit = min(start + options.max_length, end)
    if len(names) > options.placeholders:
        limit = min(limit, names[options.placeholders].span[0])
    if limit == end:
        return end
    place = bisect_right(commas, limit)
    if place and commas[place - 1] > start:
        return commas[place - 1]
    for before, after in (name.span for name in names[: options.placeholders]):
        if before < limit < after:
            return before if before > start else after
    return limit
