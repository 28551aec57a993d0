"""From the scores of tags to the entities of texts.

Shapes: B segments, C units, K tags.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..text.segments import Segment, divide_segments, join_segments
from ..text.units import EntitySpan, Units
from ..util.arrays import Ints
from ..util.combinations import best_combinations
from .batch import Batch
from .constraints import Constraints
from .tags import TagSet
from .trellis import Trellis
from .wishes import Labels, Wishes, shown_as

if TYPE_CHECKING:
    from torch import Tensor

    from .model import Emissions
    from .network import TaggingNetwork

LEAST = 1e-3  # entities of lower probability are never found
_LARGEST = 4_000_000  # numbers in the steps of a trellis

Annotations = list[tuple[list[EntitySpan], float]]  # the most probable first, with probabilities


@dataclass(frozen=True)
class Decoding:
    """How to choose entities.

    labels: the network's labels for each label of Docs.
    constrained: no entity violates `Constraints`.
    confidence: compute the probabilities of entities.
    alternatives: number of most probable annotations to find.
    thresholds: for each label of Docs: the entities are those with at least this probability,
        instead of those of the most probable tags.
    temperature: divides the scores for probabilities.
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
        """Whether all segments go through a trellis."""
        return self.confidence or self.alternatives > 0 or self.thresholds is not None

    def fine(self, label: str) -> Sequence[str]:
        """The network's labels that Docs get as one with a label of the network."""
        return next((own for own in self.labels.values() if label in own), (label,))

    def probability(self, trellis: Trellis, row: int, span: EntitySpan) -> float:
        """Of an entity [start, end) of a segment, with a label of the network or one that Docs get
        as the same."""
        return math.fsum(
            math.exp(trellis.log_probabilities(row, span.start, label)[span.end - span.start - 1])
            for label in self.fine(span.label)
        )

    def above(self, trellis: Trellis, row: int) -> list[EntitySpan]:
        """The entities of a segment that are probable enough; of overlapping ones the most
        probable."""
        thresholds = {name: max(each, LEAST) for name, each in (self.thresholds or {}).items()}
        most = max(map(len, self.labels.values()), default=1)
        floor = min(thresholds.values(), default=1.0) / most
        names = shown_as(self.labels)
        found = set()
        for start, label in trellis.starts_above(row, floor):
            shares = np.exp(trellis.log_probabilities(row, start, label))
            for width in np.flatnonzero(shares >= floor).tolist():
                found.add(EntitySpan(start, start + width + 1, label))
        ranked = [(self.probability(trellis, row, span), span) for span in found]
        chosen: list[EntitySpan] = []
        for share, span in sorted(ranked, key=lambda each: (-each[0], each[1])):
            free = all(span.end <= each.start or each.end <= span.start for each in chosen)
            if free and share >= thresholds.get(names.get(span.label, ""), 2.0):
                chosen.append(span)
        return sorted(chosen)


@dataclass
class Part:
    """The result for a segment, in units of its text, with labels of the network."""

    segment: Segment
    spans: list[EntitySpan]
    shares: dict[EntitySpan, float] = field(default_factory=dict)
    alternatives: list[tuple[float, list[EntitySpan]]] = field(default_factory=list)  # with ln P


@dataclass
class Found:
    """The entities of a text, in characters, with labels of Docs; where asked for, their
    probabilities, and the most probable annotations."""

    entities: list[EntitySpan] = field(default_factory=list)
    confidence: list[float] | None = None
    alternatives: Annotations = field(default_factory=list)


def find_entities(
    emissions: Emissions,
    network: TaggingNetwork,
    decoding: Decoding,
    wishes: Mapping[int, Wishes] | None = None,
) -> list[Found]:
    """The entities of the most probable tags of each text that agree with the wishes for it.

    Most segments are decoded in one step. Those whose best tags don't meet the wishes or have an
    entity that violates `Constraints` are then decoded by a `Trellis`; so are all segments if
    probabilities or alternatives are requested.
    """
    wishes = wishes or {}
    parts: list[list[Part]] = [[] for _ in emissions.texts]
    constraints = Constraints(emissions.texts)
    for batch, scores in emissions.batches:
        found = decode(network.best_tags(scores, batch.n_units), batch, decoding.tags)
        here = [Part(segment, spans) for segment, spans in zip(batch.segments, found, strict=True)]
        asked: dict[int, Wishes] = {}
        again, none = set(), Wishes()
        for row, part in enumerate(here):
            number = part.segment.text
            given = wishes[number].part(part.segment) if number in wishes else none
            agrees = not given or given.met_by(
                _moved(part.spans, -part.segment.start), decoding.labels
            )
            if not agrees or (decoding.constrained and constraints.violated_by(number, part.spans)):
                again.add(row)
            if row in again or decoding.needs_all:
                asked[row] = given
        for rows, trellis in trellises(asked, batch, scores, network, decoding, constraints):
            for number, row in enumerate(rows):
                _search(here[row], trellis, number, decoding, row in again)
        for part in here:
            parts[part.segment.text].append(part)
    return [
        _found(text, sorted(some, key=lambda part: part.segment.start), decoding, fixed)
        for number, (text, some) in enumerate(zip(emissions.texts, parts, strict=True))
        for fixed in [wishes[number].fixed if number in wishes else []]
    ]


def _search(part: Part, trellis: Trellis, row: int, decoding: Decoding, again: bool) -> None:
    """Complete the result for a segment, a row of a trellis. again: find its entities, too."""
    start = part.segment.start
    if decoding.thresholds is not None:
        part.spans = _moved(decoding.above(trellis, row), start)
    elif again:
        part.spans = _moved(spans_of(trellis.paths(row)[0][1], decoding.tags), start)
    if decoding.confidence:
        for span, local in zip(part.spans, _moved(part.spans, -start), strict=True):
            part.shares[span] = decoding.probability(trellis, row, local)
    if decoding.alternatives:
        part.alternatives = [
            (
                score / decoding.temperature - trellis.log_partition(row),
                _moved(spans_of(path, decoding.tags), start),
            )
            for score, path in trellis.paths(row, decoding.alternatives)
        ]


def _moved(spans: Iterable[EntitySpan], by: int) -> list[EntitySpan]:
    return [EntitySpan(start + by, end + by, label) for start, end, label in spans]


def _found(
    text: Units, parts: Sequence[Part], decoding: Decoding, fixed: Sequence[EntitySpan]
) -> Found:
    """What was found in a text, from its parts in order. fixed: what must be among it, although
    the text may be split within."""
    names = shown_as(decoding.labels)
    segments = [part.segment for part in parts]
    kept = list(divide_segments(segments, [part.spans for part in parts]))
    # Overlapping segments see different contexts: the probability is that of the one that decides.
    shares = {
        span: part.shares.get(span, 1.0)
        for part, spans in zip(parts, kept, strict=True)
        for span in spans
    }

    def named(joined: Sequence[EntitySpan]) -> list[tuple[EntitySpan, float]]:
        """With labels of Docs, and probabilities."""
        shown = {
            span._replace(label=names[span.label]): shares.get(span, 1.0)
            for span in joined
            if span.label in names
        }
        return sorted({**dict.fromkeys(fixed, 1.0), **shown}.items())

    found = Found(confidence=[] if decoding.confidence else None)
    for span, share in named(list(shares)):
        for each in text.to_characters([span]):
            found.entities.append(each)
            if found.confidence is not None:
                found.confidence.append(share)
    if decoding.alternatives:
        # Where labels or parts of segments are left out, several may come to the same.
        same: dict[tuple[EntitySpan, ...], float] = {}
        choices = [part.alternatives for part in parts]
        for total, chosen in best_combinations(choices, decoding.alternatives):
            joined = named(join_segments(segments, chosen))
            key = tuple(text.to_characters([span for span, _ in joined]))
            same[key] = same.get(key, 0) + math.exp(total)
        found.alternatives = sorted(
            ((list(spans), share) for spans, share in same.items()), key=lambda each: -each[1]
        )
    return found


def trellises(
    asked: Mapping[int, Wishes],
    batch: Batch,
    scores: Tensor,
    network: TaggingNetwork,
    decoding: Decoding,
    constraints: Constraints,
) -> Iterable[tuple[list[int], Trellis]]:
    """Trellises of rows of a batch: rows with scores of entities by themselves, as they take more
    memory."""
    if not asked:
        return
    tags, C = decoding.tags, scores.shape[1]
    crf = network.crf_scores()
    groups = [[row for row, each in asked.items() if not each.scores]]
    scored = [row for row, each in asked.items() if each.scores]
    size = max(1, _LARGEST // (C * (3 * len(tags)) ** 2))
    groups += [scored[first : first + size] for first in range(0, len(scored), size)]
    for rows in filter(None, groups):
        segments = [batch.segments[row] for row in rows]
        barred, letters = constraints.of_segments(segments, C)
        if not decoding.constrained:
            barred[:], letters[:] = False, True
        allowed = np.ones((len(rows), C, len(tags)), dtype=np.bool_)
        for number, row in enumerate(rows):
            n = int(batch.n_units[row])
            asked[row].bind(
                tags, decoding.labels, allowed[number, :n], barred[number, :n], letters[number, :n]
            )
        emissions = scores[rows].cpu().double().numpy()
        yield (
            rows,
            Trellis(
                tags,
                crf._replace(emissions=emissions),
                batch.n_units[rows],
                allowed,
                barred,
                letters,
                [asked[row].scores for row in rows],
                decoding.temperature,
            ),
        )


def span_probabilities(
    emissions: Emissions,
    network: TaggingNetwork,
    decoding: Decoding,
    wishes: Mapping[int, Wishes],
    spans: Sequence[Sequence[EntitySpan]],
) -> list[list[float]]:
    """The probabilities that characters of each text are an entity with a label of Docs: 0 for an
    unknown label, and where a text is split within the span."""
    found = [[0.0] * len(each) for each in spans]
    units = [
        [(place, *unit) for place, span in enumerate(each) for unit in text.touched([span])]
        for text, each in zip(emissions.texts, spans, strict=True)
    ]
    constraints = Constraints(emissions.texts)
    for batch, scores in emissions.batches:
        asked = {
            row: wishes.get(segment.text, Wishes()).part(segment)
            for row, segment in enumerate(batch.segments)
            if units[segment.text]
        }
        for rows, trellis in trellises(asked, batch, scores, network, decoding, constraints):
            for number, row in enumerate(rows):
                text, first, last = vars(batch.segments[row]).values()
                for place, start, end, label in units[text]:
                    if first <= start and end <= last and label in decoding.labels:
                        own = EntitySpan(start - first, end - first, decoding.labels[label][0])
                        share = decoding.probability(trellis, number, own)
                        found[text][place] = max(found[text][place], share)
    return found


def decode(best: Ints, batch: Batch, tags: TagSet) -> list[list[EntitySpan]]:
    """Tags [B, C] → the entities of each segment, as units of the text that it is of."""
    found = tags.decode(best.ravel())
    rows, starts = np.divmod(found.starts, best.shape[1])
    starts += np.array([segment.start for segment in batch.segments])[rows]
    ends = starts + found.ends - found.starts
    spans: list[list[EntitySpan]] = [[] for _ in batch.segments]
    columns = (array.tolist() for array in (rows, starts, ends, found.labels))
    for row, start, end, label in zip(*columns, strict=True):
        spans[row].append(EntitySpan(start, end, tags.labels[label]))
    return spans


def spans_of(path: Ints, tags: TagSet) -> list[EntitySpan]:
    """The tags of a segment → its entities."""
    columns = (array.tolist() for array in tags.decode(path))
    return [
        EntitySpan(start, end, tags.labels[label])
        for start, end, label in zip(*columns, strict=True)
    ]
