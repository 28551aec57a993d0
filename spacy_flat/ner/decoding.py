"""From the scores of tags to the entities of texts.

Shapes: B segments, C units, K tags.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..text.segments import Segment, divide_segments, join_segments
from ..text.units import EntitySpan, Units
from ..util.arrays import Float64s, Ints
from ..util.combinations import best_combinations
from .batch import Batch
from .constraints import Labels, SpanConstraints, doc_labels
from .rules import Rules, UnitRules
from .semi_markov import Labelled, Lattice, Spans, SpanScores
from .tags import TagSet

if TYPE_CHECKING:
    from .model import BatchEmissions, Emissions
    from .network import TaggingNetwork

MIN_PROBABILITY = 1e-3  # thresholds below find no more
_SHOWN = 1e-6  # lower confidence is 0
_LOSS = 5.0  # ln of the probability of what is excluded that makes little difference
_MAX_SPANS = 2_000_000  # of the segments of a lattice

Annotations = list[tuple[list[EntitySpan], float]]  # the most probable first, with probabilities
_NONE = SpanConstraints()


@dataclass(frozen=True)
class Decoding:
    """How to choose entities.

    labels: the network's labels for each label of Docs.
    constrained: no entity violates `Rules`.
    confidence: compute the probabilities of entities.
    alternatives: number of most probable annotations to find.
    thresholds: for each label of Docs: the entities are those with at least this probability,
        instead of those of the most probable annotation.
    temperature: divides the scores.
    """

    tags: TagSet
    labels: Labels
    constrained: bool = True
    confidence: bool = False
    alternatives: int = 0
    thresholds: Mapping[str, float] | None = None
    temperature: float = 1.0

    @property
    def needs_all(self) -> bool:
        """Whether probabilities or alternatives of all segments are asked for."""
        return self.confidence or self.alternatives > 0 or self.thresholds is not None

    @cached_property
    def merges(self) -> bool:
        """Whether labels of the network are one in Docs, or left out."""
        return len(set(self.numbers.tolist()) - {-1}) < len(self.numbers)

    @cached_property
    def names(self) -> list[str]:
        """The labels of Docs."""
        return [*self.labels]

    @cached_property
    def numbers(self) -> Ints:
        """[labels of the network] numbers in `names`, -1 for those that Docs don't get."""
        own = doc_labels(self.labels)
        return np.array(
            [self.names.index(own[each]) if each in own else -1 for each in self.tags.labels],
            np.int64,
        )

    def spans(self, found: Iterable[Labelled], start: int = 0) -> list[EntitySpan]:
        """The entities of a segment that starts at `start`."""
        return [EntitySpan(a + start, b + start, self.names[name]) for a, b, name in found]

    def above_thresholds(self, probabilities: Mapping[EntitySpan, float]) -> list[EntitySpan]:
        """The entities that are probable enough; of overlapping ones the most probable."""
        limits = {n: max(each, MIN_PROBABILITY) for n, each in (self.thresholds or {}).items()}
        found = [(-p, span) for span, p in probabilities.items() if p >= limits[span.label]]
        chosen: list[EntitySpan] = []
        for _, span in sorted(found):
            if all(span.end <= each.start or each.end <= span.start for each in chosen):
                chosen.append(span)
        return sorted(chosen)


@dataclass
class Part:
    """The result for a segment, in units of its text, with labels of Docs."""

    segment: Segment
    spans: list[EntitySpan]
    probabilities: dict[EntitySpan, float] = field(default_factory=dict)
    alternatives: list[tuple[float, list[EntitySpan]]] = field(default_factory=list)  # with ln P


@dataclass
class EntityPrediction:
    """The entities of a text, in characters, with labels of Docs; where asked for, their
    probabilities, and the most probable annotations."""

    entities: list[EntitySpan] = field(default_factory=list)
    confidence: list[float] | None = None
    alternatives: Annotations = field(default_factory=list)


class Decoder:
    """Decodes the segments of some texts, batch by batch, under the constraints for each text."""

    def __init__(
        self,
        emissions: Emissions,
        network: TaggingNetwork,
        decoding: Decoding,
        constraints: Mapping[int, SpanConstraints] | None = None,
    ) -> None:
        self.texts, self.network, self.decoding = emissions.texts, network, decoding
        self.rules = Rules(emissions.texts)
        own: dict[int, list[Segment]] = {number: [] for number in constraints or {}}
        for segment in emissions.segments:
            if segment.text in own:
                own[segment.text].append(segment)
        self.constraints = {
            segment: part
            for number, each in (constraints or {}).items()
            for segment, part in each.split(own[number])
        }

    def decode(self, found: BatchEmissions) -> list[Part]:
        """The entities of the most probable annotation of each segment of a batch, or those above
        the thresholds.

        Most segments only need the best tags. A lattice is made of those whose best tags violate
        the constraints or the rules, of those with brackets, since what an entity is depends on
        their partners, and of all if probabilities or alternatives are asked for or labels merged.
        """
        batch, scores = found
        decoding = self.decoding
        best = self.network.best_tags(scores, batch.n_units)
        parts, asked, again = [], [], set()
        for row, (segment, spans) in enumerate(
            zip(batch.segments, self._spans(best, batch), strict=True)
        ):
            parts.append(Part(segment, spans))
            if not self._is_final(segment, spans):
                again.add(row)
            if row in again or decoding.needs_all:
                asked.append(row)
        for rows, lattice in self.lattices(found, asked):
            for number, row in enumerate(rows):
                self._search(parts[row], lattice, number, row in again)
        return parts

    def probabilities(
        self, found: BatchEmissions, least: float = 0.0
    ) -> Iterator[tuple[Segment, dict[EntitySpan, float]]]:
        """Those of the entities of each segment of a batch, in units of its text, from `least`."""
        segments = found.batch.segments
        for rows, lattice in self.lattices(found, range(len(segments))):
            for number, row in enumerate(rows):
                yield segments[row], self._named(segments[row], lattice.above(number, least))

    def _spans(self, best: Ints, batch: Batch) -> list[list[EntitySpan]]:
        """Tags [B, C] → the entities of each segment, as units of its text."""
        numbers, names = self.decoding.numbers, self.decoding.names
        found = self.decoding.tags.decode(best.ravel())
        rows, starts = np.divmod(found.starts, best.shape[1])
        starts += np.array([segment.start for segment in batch.segments])[rows]
        ends = starts + found.ends - found.starts
        spans: list[list[EntitySpan]] = [[] for _ in batch.segments]
        columns = (array.tolist() for array in (rows, starts, ends, numbers[found.labels]))
        for row, start, end, name in zip(*columns, strict=True):
            if name >= 0:
                spans[row].append(EntitySpan(start, end, names[name]))
        return spans

    def _is_final(self, segment: Segment, spans: Sequence[EntitySpan]) -> bool:
        """Whether the entities of the best tags of a segment are those of the best annotation."""
        decoding, given = self.decoding, self.constraints.get(segment)
        if decoding.merges:
            return False
        local = [EntitySpan(a - segment.start, b - segment.start, label) for a, b, label in spans]
        if given and not given.satisfied_by(local, doc_labels(decoding.labels)):
            return False
        return not decoding.constrained or not (
            self.rules.has_brackets(segment) or self.rules.violated_by(segment.text, spans)
        )

    def _search(self, part: Part, lattice: Lattice, row: int, again: bool) -> None:
        """Complete the result for a segment, a row of a lattice. again: find its entities, too."""
        decoding, start = self.decoding, part.segment.start
        if decoding.confidence or decoding.thresholds is not None:
            part.probabilities = self._named(part.segment, lattice.above(row, _SHOWN))
        k = max(decoding.alternatives, int(again and decoding.thresholds is None))
        best = [(share, decoding.spans(spans, start)) for share, spans in lattice.best(row, k)]
        if decoding.thresholds is not None:
            part.spans = decoding.above_thresholds(part.probabilities)
        elif again:
            part.spans = best[0][1]
        if decoding.alternatives:
            part.alternatives = best

    def _named(
        self, segment: Segment, probabilities: Mapping[Labelled, float]
    ) -> dict[EntitySpan, float]:
        spans = self.decoding.spans(probabilities, segment.start)
        return dict(zip(spans, probabilities.values(), strict=True))

    def lattices(
        self, found: BatchEmissions, asked: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], Lattice]]:
        """Lattices of rows of a batch, with these rows."""
        batch, scores = found
        if not asked:
            return
        decoding = self.decoding
        n = int(batch.n_units.max())
        size = max(1, _MAX_SPANS // (n * n * max(1, len(decoding.tags.labels))))
        for rows in (asked[at : at + size] for at in range(0, len(asked), size)):
            segments, lengths = [batch.segments[row] for row in rows], batch.n_units[rows]
            C = int(lengths.max())
            crf = self.network.crf_scores(scores[rows][:, :C])
            own = SpanScores(decoding.tags, crf, lengths, decoding.temperature)
            rules = self.rules.of_segments(segments, C) if decoding.constrained else None
            given = [self.constraints.get(segment, _NONE) for segment in segments]
            yield rows, lattice_of(own, decoding, rules, given)


def lattice_of(
    scores: SpanScores,
    decoding: Decoding,
    rules: UnitRules | None,
    constraints: Sequence[SpanConstraints],
) -> Lattice:
    """The lattice of the entities that rules and constraints allow and that aren't negligible.

    An entity is more probable with constraints than without by at most as much as all sequences are
    less probable, and by the log-odds added to others.
    """
    less = np.array([sum(max(0.0, odds) for odds in c.log_odds.values()) for c in constraints])
    lattice = _lattice_of(scores, decoding, rules, constraints, less)
    lost = scores.log_partition - lattice.log_partition
    if (lost > _LOSS).any():
        lattice = _lattice_of(scores, decoding, rules, constraints, less + lost.clip(0))
    return lattice


def _lattice_of(
    scores: SpanScores,
    decoding: Decoding,
    rules: UnitRules | None,
    constraints: Sequence[SpanConstraints],
    less: Float64s,
) -> Lattice:
    """The odds of an entity with an unmatched bracket at its end are added to those of the entity
    without it.
    """
    labels = decoding.tags.labels
    listed = [
        (row, start, end, labels.index(label))
        for row, each in enumerate(constraints)
        for start, end, label in each.log_odds
    ]
    spans = _concatenated(scores.candidates(less), Spans.of(listed))
    spans = spans.select(np.unique(spans.keys(), return_index=True)[1])
    odds = scores.of(spans)
    if rules is not None:
        trimmed = rules.trim(spans)
        _, first, same = np.unique(trimmed.keys(), return_index=True, return_inverse=True)
        sums = np.full(len(first), -np.inf)
        np.logaddexp.at(sums, same.ravel(), odds)
        spans, odds = trimmed.select(first), sums
        odds[~rules.allow(spans)] = -np.inf
    fixed = []
    for row, each in enumerate(constraints):
        if each:
            here = slice(*np.searchsorted(spans.rows, [row, row + 1]))
            own = [labels[label] for label in spans.labels[here].tolist()]
            each.apply(spans.starts[here], spans.ends[here], own, odds[here])
            fixed += [
                (row, start, end, labels.index(label))
                for start, end, name in each.fixed
                for label in decoding.labels[name]
            ]
    required = Spans.of(fixed)
    kept = odds > -np.inf
    spans = _concatenated(spans.select(kept), required)
    odds = np.concatenate([odds[kept], scores.of(required)])
    by_row = np.argsort(spans.rows, kind="stable")
    spans, odds = spans.select(by_row), odds[by_row]
    return Lattice(
        *(decoding.tags, scores.joins, scores.lengths, spans, odds, required, decoding.numbers)
    )


def _concatenated(one: Spans, other: Spans) -> Spans:
    return Spans(*(np.concatenate(each) for each in zip(one, other, strict=True)))


def find_entities(
    emissions: Emissions,
    network: TaggingNetwork,
    decoding: Decoding,
    constraints: Mapping[int, SpanConstraints] | None = None,
) -> list[EntityPrediction]:
    """The most probable entities of each text under the constraints for it."""
    parts: list[list[Part]] = [[] for _ in emissions.texts]
    decoder = Decoder(emissions, network, decoding, constraints)
    for found in emissions.batches:
        for part in decoder.decode(found):
            parts[part.segment.text].append(part)
    given = constraints or {}
    return [
        _prediction(
            text,
            sorted(some, key=lambda part: part.segment.start),
            decoding,
            given.get(number, _NONE).fixed,
        )
        for number, (text, some) in enumerate(zip(emissions.texts, parts, strict=True))
    ]


def _prediction(
    text: Units, parts: Sequence[Part], decoding: Decoding, fixed: Sequence[EntitySpan]
) -> EntityPrediction:
    """The result for a text, from its parts in order. fixed: what must be among it, although the
    text may be split within."""
    segments = [part.segment for part in parts]
    # Overlapping segments see different contexts: the probability is that of the one that decides.
    chosen = dict.fromkeys(fixed, 1.0)
    kept = divide_segments(segments, [part.spans for part in parts])
    for part, spans in zip(parts, kept, strict=True):
        chosen |= {span: part.probabilities.get(span, 0.0) for span in spans}
    found = EntityPrediction(confidence=[] if decoding.confidence else None)
    for span, share in sorted(chosen.items()):
        for each in text.to_characters([span]):
            found.entities.append(each)
            if found.confidence is not None:
                found.confidence.append(share)
    if decoding.alternatives:
        # Where parts of segments are left out, several may come to the same.
        same: dict[tuple[EntitySpan, ...], float] = {}
        choices = [part.alternatives for part in parts]
        for total, combination in best_combinations(choices, decoding.alternatives):
            joined = sorted({*fixed, *join_segments(segments, combination)})
            key = tuple(text.to_characters(joined))
            same[key] = same.get(key, 0) + math.exp(total)
        found.alternatives = sorted(
            ((list(spans), share) for spans, share in same.items()), key=lambda each: -each[1]
        )
    return found


def span_probabilities(
    emissions: Emissions,
    network: TaggingNetwork,
    decoding: Decoding,
    constraints: Mapping[int, SpanConstraints],
    spans: Sequence[Sequence[EntitySpan]],
) -> list[list[float]]:
    """The probabilities that characters of each text are an entity with a label of Docs: 0 for an
    unknown label, and where a text is split within the span."""
    decoder = Decoder(emissions, network, decoding, constraints)
    found: list[dict[EntitySpan, float]] = [{} for _ in spans]
    for batch in emissions.batches:
        for segment, probabilities in decoder.probabilities(batch):
            own = found[segment.text]
            for span, share in probabilities.items():
                own[span] = max(own.get(span, 0.0), share)
    return [
        [max((own.get(u, 0.0) for u in text.touched([span])), default=0.0) for span in each]
        for text, own, each in zip(emissions.texts, found, spans, strict=True)
    ]
