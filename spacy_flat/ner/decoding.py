"""From the scores of tags to the entities of texts.

Shapes: B segments, C units, K tags, L labels, N = C + 1 nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TypeAlias

import numpy as np

from ..text.segments import Segment, divide_segments, part_in
from ..text.spans import EntitySpan, Units
from ..util.probabilities import best_combinations
from .constraints import Labels, SpanConstraints, UnitRules, doc_labels, rules_of
from .emissions import BatchEmissions, Emissions
from .k_best import Labelled
from .network import TaggingNetwork
from .semi_markov import Arcs, Scores, SemiMarkovCRF

MIN_PROBABILITY = 1e-3  # thresholds below find no more

Threshold: TypeAlias = float | dict[str, float] | None


@dataclass(frozen=True)
class Decoding:
    """How to choose entities.

    labels: the network's labels for each label of Docs.
    constrained: no entity violates the rules, see `UnitRules`.
    The others are settings of the component.
    """

    labels: Labels
    constrained: bool = True
    confidence: bool = False
    alternatives: int = 0
    threshold: Threshold = None
    temperature: float = 1.0

    def above_threshold(self, probabilities: Mapping[EntitySpan, float]) -> list[EntitySpan]:
        """The entities that are probable enough; of overlapping ones the most probable."""
        given = self.threshold
        limits = given if isinstance(given, dict) else dict.fromkeys(self.labels, given or 0.0)
        chosen: list[EntitySpan] = []
        for share, span in sorted((-share, span) for span, share in probabilities.items()):
            if -share >= limits.get(span.label, 0.5) and all(
                span.end <= each.start or each.end <= span.start for each in chosen
            ):
                chosen.append(span)
        return sorted(chosen)


@dataclass
class EntityPrediction:
    """The entities of a text, in characters, with labels of Docs; where asked for, their
    probabilities, and the most probable annotations, the best first, with theirs.

    Of a segment of a text: in units, and with the logarithms of the latter.
    """

    entities: list[EntitySpan] = field(default_factory=list)
    confidence: list[float] | None = None
    alternatives: list[tuple[list[EntitySpan], float]] = field(default_factory=list)


class Decoder:
    """Decodes the segments of some texts, batch by batch, under the constraints for each text."""

    def __init__(
        self,
        emissions: Emissions,
        network: TaggingNetwork,
        decoding: Decoding,
        constraints: Mapping[int, SpanConstraints],
    ) -> None:
        self.texts, self.network, self.decoding = emissions.texts, network, decoding
        self.names = [*decoding.labels]
        shown = doc_labels(decoding.labels)
        # Labels that Docs don't get have numbers after those of the others.
        known = {label: self.names.index(name) for label, name in shown.items()}
        more = count(len(self.names))
        numbers = [known[n] if n in known else next(more) for n in network.tags.labels]
        self._numbers = np.array(numbers, np.int64)
        self._rules: dict[int, UnitRules] = {}  # by the number of the text
        segments: dict[int, list[Segment]] = {number: [] for number in constraints}
        for segment in emissions.segments if constraints else ():
            segments.get(segment.text, []).append(segment)
        self._constraints: dict[Segment, SpanConstraints] = {}
        for number, own in segments.items():
            self._constraints |= constraints[number].split(own)

    def decode(self, batch: BatchEmissions) -> Iterable[tuple[Segment, EntityPrediction]]:
        """The most probable entities of each segment of a batch, or those above the threshold."""
        decoding, segments, crf = self.decoding, batch.batch.segments, self.crf(batch)
        n_best = decoding.alternatives or int(decoding.threshold is None)
        best = [
            [(self._kept(segment, self._named(segment, spans)), odds) for odds, spans in each]
            for segment, each in zip(segments, crf.best(n_best), strict=True)
        ]
        if decoding.threshold is None:
            chosen = [each[0][0] for each in best]
        else:
            chosen = []
            for segment, likely in zip(segments, crf.above(MIN_PROBABILITY), strict=True):
                named = {
                    span: share
                    for each, share in likely.items()
                    for span in self._named(segment, [each])
                }
                chosen.append(self._kept(segment, decoding.above_threshold(named)))
        found = [EntityPrediction(spans) for spans in chosen]
        if decoding.confidence:
            for part, shares in zip(found, self.shares(segments, crf, chosen), strict=True):
                part.confidence = shares
        if decoding.alternatives:
            totals = crf.log_partition.tolist()
            for part, own, total in zip(found, best, totals, strict=True):
                part.alternatives = [(spans, odds - total) for spans, odds in own]
        return zip(segments, found, strict=True)

    def _named(self, segment: Segment, found: Iterable[Labelled]) -> list[EntitySpan]:
        """Entities of a segment that Docs get, as units of its text."""
        return [
            EntitySpan(start + segment.start, end + segment.start, self.names[name])
            for start, end, name in found
            if name < len(self.names)
        ]

    def _kept(self, segment: Segment, spans: Sequence[EntitySpan]) -> list[EntitySpan]:
        return [span for span in spans if not self.is_dropped(segment, span)]

    def is_dropped(self, segment: Segment, span: EntitySpan) -> bool:
        constraints = self._constraints.get(segment)
        return constraints is not None and constraints.drops(part_in(span, segment))

    def shares(
        self, segments: Sequence[Segment], crf: SemiMarkovCRF, spans: Sequence[Sequence[EntitySpan]]
    ) -> list[list[float]]:
        """The probabilities of entities of each segment, in units of its text."""
        arcs = [
            (row, start - segment.start, end - segment.start, self.names.index(label))
            for row, (segment, own) in enumerate(zip(segments, spans, strict=True))
            for start, end, label in own
        ]
        shares = iter(crf.probabilities(Arcs.of(arcs)).tolist())
        return [[next(shares) for _ in own] for own in spans]

    def crf(self, found: BatchEmissions) -> SemiMarkovCRF:
        """With the odds of an entity with an unmatched bracket added to those of it without."""
        (batch, emissions), decoding, tags = found, self.decoding, self.network.tags
        given = [self._constraints.get(segment) for segment in batch.segments]
        rules = [self._rules_of(segment) for segment in batch.segments if decoding.constrained]
        by_label = any(given) or any(each.partners is not None for each in rules)
        N, labels = int(batch.n_units.max()) + 1, np.arange(len(tags.labels))
        odds = np.zeros((N, N, len(labels) if by_label else 1, len(given)), np.float32)
        scores = Scores.of(emissions, self.network.crf)
        crf = SemiMarkovCRF(tags, scores, batch.n_units, self._numbers, odds, decoding.temperature)
        for row, each in enumerate(rules):
            starts, ends, *trimmed = (places[:, None] for places in each.trims())
            if len(starts):
                crf.move(Arcs(np.array(row), starts, ends, labels), *trimmed)
            allowed = each.allowed
            odds[: len(allowed), : len(allowed) - 1, :, row][~allowed] = -np.inf
        for row, constraints in enumerate(given):
            if constraints:
                constraints.apply(odds[..., row], decoding.labels, tags.labels)
        return crf

    def _rules_of(self, segment: Segment) -> UnitRules:
        if segment.text not in self._rules:
            self._rules[segment.text] = rules_of(self.texts[segment.text])
        return self._rules[segment.text].of_segment(segment.start, segment.end)


def find_entities(
    emissions: Emissions,
    network: TaggingNetwork,
    decoding: Decoding,
    constraints: Mapping[int, SpanConstraints],
) -> list[EntityPrediction]:
    """The most probable entities of each text under the constraints for it, by its number."""
    parts: list[dict[Segment, EntityPrediction]] = [{} for _ in emissions.texts]
    decoder = Decoder(emissions, network, decoding, constraints)
    for batch in emissions.batches:
        for segment, part in decoder.decode(batch):
            parts[segment.text][segment] = part
    return [
        _joined(text, own, decoding, [*constraints[number].fixed] if number in constraints else [])
        for number, (text, own) in enumerate(zip(emissions.texts, parts, strict=True))
    ]


def _joined(
    text: Units,
    parts: Mapping[Segment, EntityPrediction],
    decoding: Decoding,
    fixed: Sequence[EntitySpan],
) -> EntityPrediction:
    """The result for a text, from its segments'. fixed: what must be among it, even if split."""
    segments = sorted(parts, key=lambda segment: segment.start)
    # Overlapping segments see different contexts: the probability is that of the one that decides.
    chosen = dict.fromkeys(fixed, 1.0)
    kept = divide_segments(segments, [parts[segment].entities for segment in segments])
    for part, spans in zip(map(parts.__getitem__, segments), kept, strict=True):
        confidence = part.confidence or [1.0] * len(part.entities)
        shares = dict(zip(part.entities, confidence, strict=True))
        chosen |= {span: shares[span] for span in spans}
    named = [
        (own, share) for span, share in sorted(chosen.items()) for own in text.to_characters([span])
    ]
    found = EntityPrediction([span for span, _ in named])
    if decoding.confidence:
        found.confidence = [share for _, share in named]
    if decoding.alternatives:
        # Where parts of segments are left out, several may come to the same.
        same: dict[tuple[EntitySpan, ...], float] = {}
        choices = [[(odds, s) for s, odds in parts[each].alternatives] for each in segments]
        for total, combination in best_combinations(choices, decoding.alternatives):
            joined = sorted({*fixed, *chain(*divide_segments(segments, combination))})
            key = tuple(text.to_characters(joined))
            same[key] = same.get(key, 0) + math.exp(total)
        likely = sorted(same.items(), key=lambda each: -each[1])
        found.alternatives = [(list(spans), share) for spans, share in likely]
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
    found: list[dict[EntitySpan | None, float]] = [{} for _ in spans]
    decoder = Decoder(emissions, network, decoding, constraints)
    for batch in emissions.batches:
        segments = batch.batch.segments
        asked = [
            [
                span
                for span in touched[segment.text]
                if span and span.label in decoding.labels
                if segment.start <= span.start and span.end <= segment.end
                if not decoder.is_dropped(segment, span)
            ]
            for segment in segments
        ]
        shares = decoder.shares(segments, decoder.crf(batch), asked)
        for segment, own, likely in zip(segments, asked, shares, strict=True):
            known = found[segment.text]
            known |= {s: max(known.get(s, 0.0), p) for s, p in zip(own, likely, strict=True)}
    return [[own.get(span, 0.0) for span in each] for own, each in zip(found, touched, strict=True)]
