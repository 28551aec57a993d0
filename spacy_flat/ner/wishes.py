"""Requirements for the entities of a text: required spans, excluded spans, and added log-odds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from spacy.tokens import Doc, Span

from ..lexicon import NOT_ENTITY
from ..text.segments import Segment
from ..text.units import EntitySpan, Units
from ..util.arrays import Bools
from .spans import ALIGNMENT, OnMisaligned, existing_entities
from .tags import TagSet

_SURE = 500.0  # log-odds higher than those of any network
_MANY = 500  # maximum entities of the same tokens, since each takes time and memory

Labels = Mapping[str, Sequence[str]]  # the network's labels for a label of Docs


def shown_as(labels: Labels) -> dict[str, str]:
    """The label of Docs for each label of the network, unless `label_map` drops it."""
    return {label: name for name, own in labels.items() for label in own}


@dataclass
class Wishes:
    """The wishes for a text or a segment, in its units.

    fixed: required entities, with labels of Docs.
    outside: stretches without entities.
    scores: log-odds to add to entities with labels of the network; -inf to exclude one.
    """

    fixed: list[EntitySpan] = field(default_factory=list)
    outside: list[EntitySpan] = field(default_factory=list)
    scores: dict[EntitySpan, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.fixed or self.outside or self.scores)

    def met_by(self, entities: Iterable[EntitySpan], labels: Labels) -> bool:
        """Whether these entities, with labels of the network, fulfil all wishes. If they are the
        most probable ones without wishes, they then are with them, except for ties."""
        found = set(entities)
        return (
            all(odds == 0 or (span in found) == (odds > 0) for span, odds in self.scores.items())
            and all(
                any(span._replace(label=own) in found for own in labels[span.label])
                for span in self.fixed
            )
            and all(
                each.end <= span.start or span.end <= each.start
                for span in self.outside
                for each in found
            )
        )

    def part(self, segment: Segment) -> Wishes:
        """The wishes for a segment, with positions relative to its start. Entities that it cuts are
        outside."""
        found = Wishes()
        for span in (*self.fixed, *self.outside, *self.scores):
            start, end = max(span.start, segment.start), min(span.end, segment.end)
            if start >= end:
                continue
            part = EntitySpan(start - segment.start, end - segment.start, span.label)
            whole = end - start == span.end - span.start
            if span in self.scores:
                if whole:
                    found.scores[part] = self.scores[span]
            elif whole and span in self.fixed:
                found.fixed.append(part)
            else:
                found.outside.append(part)
        return found

    def bind(
        self, tags: TagSet, labels: Labels, allowed: Bools, barred: Bools, letters: Bools
    ) -> None:
        """Restrict the tags [C, K] of a segment's units to those that agree with the wishes.
        Required entities are exempt from `Constraints`, [C]."""
        n = len(allowed)
        allowed[:] = tags.allowed(self.fixed, n, [(0, n, "")], labels)
        for start, end, _ in self.outside:
            allowed[start:end] = np.arange(len(tags)) == 0
        for start, end, _ in self.fixed:
            barred[start:end], letters[start:end] = False, True

    def add_words(self, words: Iterable[tuple[EntitySpan, float]], labels: Labels) -> None:
        """Add lexicon words with their trust, and with a label of the network or "not_entity".

        Of overlapping words with trust 1, the Doc's entities win, then the longer word. Among words
        of the same length, the network chooses.
        """
        sure = []
        names = shown_as(labels)
        for span, trust in words:
            odds = -math.log1p(-trust) if trust < 1 else math.inf
            if span.label == NOT_ENTITY:
                for label in names:
                    each = span._replace(label=label)
                    self.scores[each] = self.scores.get(each, 0.0) - odds
            elif trust < 1:
                self.scores[span] = self.scores.get(span, 0.0) + odds
            elif span.label in names and self.scores.get(span) != -math.inf:
                sure.append(span)
        taken = {place for each in (*self.fixed, *self.outside) for place in range(*each[:2])}
        for _, group in groupby(sorted(sure, key=lambda s: (s.start - s.end, s)), key=_width):
            free = [span for span in group if taken.isdisjoint(range(*span[:2]))]
            for number, span in enumerate(free):
                beside = free[max(0, number - 1) : number] + free[number + 1 : number + 2]
                if any(span.start < each.end and each.start < span.end for each in beside):
                    self.scores[span] = _SURE
                else:
                    self.fixed.append(span._replace(label=names[span.label]))
                taken.update(range(*span[:2]))
        places = {span[:2] for span in self.fixed}
        self.scores = {span: odds for span, odds in self.scores.items() if span[:2] not in places}


def _width(span: EntitySpan) -> int:
    return span.end - span.start


def wishes_of(
    doc: Doc, text: Units, labels: Labels, on_misaligned: OnMisaligned, overwrite: bool
) -> Wishes:
    """The wishes of the Doc's annotation: its entities and blocked tokens, unless `overwrite`, and
    the spans in `doc.spans["not_entity"]`."""
    entities, blocked = ([], []) if overwrite else existing_entities(doc)
    found = Wishes()
    if not (entities or blocked or NOT_ENTITY in doc.spans):
        return found
    for span in text.touched([*map(_characters, entities), *map(_characters, blocked)]):
        (found.fixed if span.label in labels else found.outside).append(span)
    places = {span[:2] for span in found.fixed}
    every = [label for each in labels.values() for label in each]
    for span in filter(len, doc.spans.get(NOT_ENTITY, ())):
        banned = labels.get(span.label_, ()) if span.label_ else every
        starts, stops = _edges(span, text)
        if len(starts) * len(stops) > _MANY:
            if all(e.end <= starts.start or stops.stop <= e.start for e in found.fixed):
                found.outside.append(EntitySpan(starts.start, stops.stop, ""))
            continue
        for start, end in _same_tokens(span, text, starts, stops, on_misaligned):
            if (start, end) not in places:
                found.scores |= {EntitySpan(start, end, label): -math.inf for label in banned}
    return found


def _characters(span: Span) -> EntitySpan:
    return EntitySpan(span.start_char, span.end_char, span.label_)


def _edges(span: Span, text: Units) -> tuple[range, range]:
    """The units at which entities of these tokens can start and stop."""
    doc = span.doc
    before, after = max(0, span.start - 1), min(span.end + 1, len(doc))
    while before > 0 and doc[before].is_space:  # entities are stripped of white space
        before -= 1
    while after < len(doc) and doc[after - 1].is_space:
        after += 1
    wider = doc[before:after]
    first, last = (doc[place] for place in (span.start, span.end - 1))
    ends = [(wider.start_char, first.idx + len(first)), (last.idx, wider.end_char)]
    starts, stops = text.touched([EntitySpan(*each, "") for each in ends])
    return range(starts.start, starts.end), range(stops.start, stops.end)


def _same_tokens(
    span: Span, text: Units, starts: range, stops: range, on_misaligned: OnMisaligned
) -> Iterator[tuple[int, int]]:
    """All stretches of units that become these tokens as entities."""
    doc = span.doc
    for start in starts:
        for stop in stops:
            for low, high, _ in text.to_characters(
                [EntitySpan(start, stop + 1, "")] * (start <= stop)
            ):
                mode = ALIGNMENT[on_misaligned]
                found = doc.char_span(low, high, alignment_mode=mode)
                if found is not None and (found.start, found.end) == (span.start, span.end):
                    yield start, stop + 1
