"""Constraints of a text's annotation and of trusted words: required and excluded entities, and
log-odds of entities."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from spacy.tokens import Doc, Span

from ..lexicon import NOT_ENTITY
from ..text.units import EntitySpan, Segment, Units
from ..util.arrays import Float32s
from .lattice import REQUIRED
from .spans import ALIGNMENT, OnMisaligned, existing_entities

_CERTAIN = 500.0  # log-odds higher than those of any network
_MANY = 500  # maximum entities of the same tokens, since each takes time and memory

Labels = Mapping[str, Sequence[str]]  # the network's labels for a label of Docs


def doc_labels(labels: Labels) -> dict[str, str]:
    """The label of Docs for each label of the network, unless `label_map` drops it."""
    return {label: name for name, own in labels.items() for label in own}


@dataclass
class SpanConstraints:
    """The constraints for a text or a segment, in its units.

    fixed: required entities, with labels of Docs.
    outside: stretches without entities.
    log_odds: to add to those of entities with labels of the network; -inf to exclude one.
    within: to add to those of all entities within stretches.
    """

    fixed: list[EntitySpan] = field(default_factory=list)
    outside: list[EntitySpan] = field(default_factory=list)
    log_odds: dict[EntitySpan, float] = field(default_factory=dict)
    within: dict[EntitySpan, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.fixed or self.outside or self.log_odds or self.within)

    def split(self, segments: Sequence[Segment]) -> Iterator[tuple[Segment, SpanConstraints]]:
        """The constraints for each segment of a text, with positions relative to its start, unless
        there are none. Required entities that it cuts are outside there, excluded ones irrelevant.
        """
        segments = sorted(segments, key=lambda each: each.start)
        parts = [SpanConstraints() for _ in segments]
        ends = [segment.end for segment in segments]

        def places(span: EntitySpan) -> Iterator[tuple[SpanConstraints, EntitySpan, bool]]:
            for number in range(bisect_right(ends, span.start), len(segments)):
                segment = segments[number]
                if segment.start >= span.end:
                    break
                start, end = max(span.start, segment.start), min(span.end, segment.end)
                own = EntitySpan(start - segment.start, end - segment.start, span.label)
                yield parts[number], own, end - start == span.end - span.start

        for span in self.fixed:
            for part, own, is_whole in places(span):
                (part.fixed if is_whole else part.outside).append(own)
        for span in self.outside:
            for part, own, _ in places(span):
                part.outside.append(own)
        for span, odds in self.log_odds.items():
            for part, own, is_whole in places(span):
                if is_whole:
                    part.log_odds[own] = odds
        for span, odds in self.within.items():
            for part, own, _ in places(span):
                part.within[own] = odds
        return ((s, part) for s, part in zip(segments, parts, strict=True) if part)

    def apply(self, odds: Float32s, labels: Labels, known: Sequence[str]) -> None:
        """Add to the log-odds [N, N, L] of a segment's entities by end, start, and label of the
        network, of which `known` are all."""
        for start, end, _ in (*self.outside, *self.fixed):
            odds[start + 1 :, :end] = -math.inf
        for (start, end, _), added in self.within.items():
            odds[: end + 1, start:] += added
        for (start, end, label), added in self.log_odds.items():
            odds[end, start, known.index(label)] += added
        for start, end, name in self.fixed:
            odds[end, start, [known.index(label) for label in labels[name]]] = REQUIRED

    def add_words(self, words: Iterable[tuple[EntitySpan, float]], labels: Labels) -> None:
        """Add lexicon words with their trust, and with a label of the network or "not_entity".

        Of overlapping words with trust 1, the Doc's entities win, then the longer word. Among words
        of the same length, the network chooses.
        """
        certain = []
        names = doc_labels(labels)
        for span, trust in words:
            odds = -math.log1p(-trust) if trust < 1 else math.inf
            if span.label == NOT_ENTITY:
                self.within[span] = -odds
            elif trust < 1:
                self.log_odds[span] = self.log_odds.get(span, 0.0) + odds
            elif span.label in names:
                certain.append(span)
        certain = [
            span
            for span in certain
            if self.log_odds.get(span) != -math.inf
            and self.within.get(span._replace(label=NOT_ENTITY)) != -math.inf
        ]
        self._require(certain, names)
        places = {span[:2] for span in self.fixed}
        self.log_odds = {
            span: odds for span, odds in self.log_odds.items() if span[:2] not in places
        }

    def _require(self, words: Sequence[EntitySpan], names: Mapping[str, str]) -> None:
        taken = {place for each in (*self.fixed, *self.outside) for place in range(*each[:2])}
        for _, group in groupby(sorted(words, key=lambda s: (-_width(s), s)), key=_width):
            free = [span for span in group if taken.isdisjoint(range(*span[:2]))]
            for number, span in enumerate(free):
                beside = free[max(0, number - 1) : number] + free[number + 1 : number + 2]
                if any(_overlap(span, each) for each in beside):
                    self.log_odds[span] = _CERTAIN
                else:
                    self.fixed.append(span._replace(label=names[span.label]))
                taken.update(range(*span[:2]))


def _width(span: EntitySpan) -> int:
    return span.end - span.start


def _overlap(one: EntitySpan, other: EntitySpan) -> bool:
    return one.start < other.end and other.start < one.end


def constraints_of(
    doc: Doc, text: Units, labels: Labels, on_misaligned: OnMisaligned, overwrite: bool
) -> SpanConstraints:
    """Those of a Doc's annotation: its entities and blocked tokens, unless `overwrite`, and the
    spans in `doc.spans["not_entity"]`."""
    entities, blocked = ([], []) if overwrite else existing_entities(doc)
    found = SpanConstraints()
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
                found.log_odds |= {EntitySpan(start, end, label): -math.inf for label in banned}
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
