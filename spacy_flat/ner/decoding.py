"""From the scores of tags to the entities of texts.

Shapes: B segments, C units, K tags, L labels, N = C + 1 nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..text.units import EntitySpan, Segment, Units, divide_segments, join_segments
from ..util.arrays import Ints
from ..util.probabilities import best_combinations
from .constraints import Labels, SpanConstraints, doc_labels
from .lattice import Arcs, Lattice, Scores
from .rules import UnitRules, rules_of
from .search import Labelled
from .tags import TagSet

if TYPE_CHECKING:
    from .model import BatchEmissions, Emissions
    from .network import TaggingNetwork

MIN_PROBABILITY = 1e-3  # thresholds below find no more
_MAX_ODDS = 6_000_000  # numbers in a lattice

Annotations = list[tuple[list[EntitySpan], float]]  # the most probable first, with probabilities


@dataclass(frozen=True)
class Decoding:
    """How to choose entities.

    labels: the network's labels for each label of Docs.
    constrained: no entity violates the rules, see `UnitRules`.
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

    @cached_property
    def names(self) -> list[str]:
        """The labels of Docs."""
        return [*self.labels]

    @cached_property
    def numbers(self) -> Ints:
        """[L] numbers in `names`, -1 for labels that Docs don't get."""
        own = doc_labels(self.labels)
        return np.array(
            [self.names.index(own[each]) if each in own else -1 for each in self.tags.labels],
            np.int64,
        )

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
    confidence: list[float] | None
    alternatives: list[tuple[float, list[EntitySpan]]]  # with ln of their probabilities


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
        self._rules: dict[int, UnitRules] = {}  # by the number of the text
        own: dict[int, list[Segment]] = {number: [] for number in constraints or {}}
        for segment in emissions.segments:
            if segment.text in own:
                own[segment.text].append(segment)
        self.constraints = {
            segment: part
            for number, each in (constraints or {}).items()
            for segment, part in each.split(own[number])
        }

    def decode(self, found: BatchEmissions) -> Iterator[Part]:
        """The entities of the most probable annotation of each segment of a batch, or those above
        the thresholds."""
        for segments, lattice in self._lattices(found):
            yield from self._parts(segments, lattice)

    def probabilities(
        self, found: BatchEmissions, spans: Mapping[Segment, Sequence[EntitySpan]]
    ) -> Iterator[tuple[Segment, list[float]]]:
        """Those of some entities of each segment of a batch, in units of its text."""
        for segments, lattice in self._lattices(found):
            asked = [spans.get(segment, ()) for segment in segments]
            yield from zip(segments, self._shares(segments, lattice, asked), strict=True)

    def _parts(self, segments: Sequence[Segment], lattice: Lattice) -> Iterator[Part]:
        decoding = self.decoding
        best = lattice.best(decoding.alternatives or int(decoding.thresholds is None))
        annotations = [
            [(odds, self._named(segment, spans)) for odds, spans in found]
            for segment, found in zip(segments, best, strict=True)
        ]
        if decoding.thresholds is None:
            chosen = [found[0][1] for found in annotations]
        else:
            likely = (
                zip(self._named(segment, found), found.values(), strict=True)
                for segment, found in zip(segments, lattice.above(MIN_PROBABILITY), strict=True)
            )
            chosen = [decoding.above_thresholds(dict(each)) for each in likely]
        shares = self._shares(segments, lattice, chosen) if decoding.confidence else None
        totals = lattice.log_partition.tolist() if decoding.alternatives else None
        for row, segment in enumerate(segments):
            yield Part(
                segment,
                chosen[row],
                shares[row] if shares else None,
                [(odds - totals[row], spans) for odds, spans in annotations[row]] if totals else [],
            )

    def _named(self, segment: Segment, found: Iterable[Labelled]) -> list[EntitySpan]:
        """Entities of a segment, as units of its text."""
        names, first = self.decoding.names, segment.start
        return [EntitySpan(start + first, end + first, names[name]) for start, end, name in found]

    def _shares(
        self, segments: Sequence[Segment], lattice: Lattice, spans: Sequence[Sequence[EntitySpan]]
    ) -> list[list[float]]:
        """The probabilities of entities of each segment."""
        numbers = {name: number for number, name in enumerate(self.decoding.names)}
        arcs = [
            (row, start - segment.start, end - segment.start, numbers[label])
            for row, (segment, own) in enumerate(zip(segments, spans, strict=True))
            for start, end, label in own
        ]
        shares = iter(lattice.probabilities(Arcs.of(arcs)).tolist())
        return [[next(shares) for _ in own] for own in spans]

    def _lattices(self, found: BatchEmissions) -> Iterator[tuple[Sequence[Segment], Lattice]]:
        """Lattices of a batch's rows, with their segments."""
        batch, scores = found
        given = [self.constraints.get(segment) for segment in batch.segments]
        rules = [self._rules_of(segment) for segment in batch.segments]
        by_label = any(given) or any(each.partners is not None for each in rules)
        width = len(self.decoding.tags.labels) if by_label else 1
        N = int(batch.n_units.max()) + 1
        size = max(1, _MAX_ODDS // (N * N * max(1, width)))
        for rows in (slice(at, at + size) for at in range(0, len(batch.segments), size)):
            lengths = batch.n_units[rows]
            crf = self.network.crf_scores(scores[rows][:, : int(lengths.max())])
            lattice = self._lattice(lengths, crf, width, rules[rows], given[rows])
            yield batch.segments[rows], lattice

    def _lattice(
        self,
        lengths: Ints,
        scores: Scores,
        width: int,
        rules: Sequence[UnitRules],
        given: Sequence[SpanConstraints | None],
    ) -> Lattice:
        """The odds of an entity with an unmatched bracket at its end are added to those of the
        entity without it."""
        decoding, labels = self.decoding, np.arange(len(self.decoding.tags.labels))
        N = int(lengths.max()) + 1
        odds = np.zeros((N, N, width, len(lengths)), np.float32)
        lattice = Lattice(
            decoding.tags, scores, lengths, decoding.numbers, odds, decoding.temperature
        )
        for row, each in enumerate(rules if decoding.constrained else ()):
            starts, ends, *trimmed = (places[:, None] for places in each.trims())
            if len(starts):
                lattice.move(Arcs(np.array(row), starts, ends, labels), *trimmed)
            allowed = each.allowed
            odds[: len(allowed), : len(allowed) - 1, :, row][~allowed] = -np.inf
        for row, constraints in enumerate(given):
            if constraints:
                constraints.apply(odds[..., row], decoding.labels, decoding.tags.labels)
        return lattice

    def _rules_of(self, segment: Segment) -> UnitRules:
        if segment.text not in self._rules:
            self._rules[segment.text] = rules_of(self.texts[segment.text])
        return self._rules[segment.text].of_segment(segment.start, segment.end)


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
            given[number].fixed if number in given else [],
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
        shares = dict(zip(part.spans, part.confidence or [1.0] * len(part.spans), strict=True))
        chosen |= {span: shares[span] for span in spans}
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
    touched = [
        [next(iter(text.touched([span])), None) for span in each]
        for text, each in zip(emissions.texts, spans, strict=True)
    ]
    asked = {
        segment: [
            span
            for span in touched[segment.text]
            if span
            and span.label in decoding.labels
            and segment.start <= span.start
            and span.end <= segment.end
        ]
        for segment in emissions.segments
    }
    found: list[dict[EntitySpan | None, float]] = [{} for _ in spans]
    decoder = Decoder(emissions, network, decoding, constraints)
    for batch in emissions.batches:
        for segment, shares in decoder.probabilities(batch, asked):
            own = found[segment.text]
            for span, share in zip(asked[segment], shares, strict=True):
                own[span] = max(own.get(span, 0.0), share)
    return [[own.get(span, 0.0) for span in each] for own, each in zip(found, touched, strict=True)]
