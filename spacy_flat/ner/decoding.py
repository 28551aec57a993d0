"""From the scores of tags to the entities of texts.

Shapes: B segments, C units, K tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..text.batches import Batch
from ..text.segments import Segment, join_segments
from ..text.units import EntitySpan, Ints
from .constraints import Constraints
from .tags import TagSet
from .trellis import Trellis
from .wishes import Labels, Wishes

if TYPE_CHECKING:
    from torch import Tensor

    from .model import Emissions
    from .network import TaggingNetwork

_LARGEST = 4_000_000  # numbers in the steps of a trellis


@dataclass(frozen=True)
class Decoding:
    """How entities are chosen.

    labels: the network's labels for each label of Docs.
    constrained: no entity violates `Constraints`.
    """

    tags: TagSet
    labels: Labels
    constrained: bool = True


@dataclass
class Part:
    """What was found in a segment, in units of its text, with labels of the network."""

    segment: Segment
    spans: list[EntitySpan]


@dataclass
class Found:
    """The entities of a text, in characters, with labels of Docs."""

    entities: list[EntitySpan] = field(default_factory=list)


def find_entities(
    emissions: Emissions,
    network: TaggingNetwork,
    decoding: Decoding,
    wishes: Mapping[int, Wishes] | None = None,
) -> list[Found]:
    """The entities of the most probable tags of each text that agree with the wishes for it.

    Most segments are decoded at once. Those with wishes, and those whose best tags have an entity
    that violates `Constraints`, then go through a `Trellis`.
    """
    wishes = wishes or {}
    parts: list[list[Part]] = [[] for _ in emissions.texts]
    constraints = Constraints(emissions.texts)
    for batch, scores in emissions.batches:
        best = network.best_tags(scores, batch.n_units)
        found = decode(best, batch, decoding.tags)
        asked: dict[int, Wishes] = {}
        for row, (segment, spans) in enumerate(zip(batch.segments, found, strict=True)):
            given = wishes[segment.text].part(segment) if segment.text in wishes else Wishes()
            violated = decoding.constrained and constraints.violated_by(segment.text, spans)
            if given or violated:
                asked[row] = given
        for rows, trellis in _trellises(asked, batch, scores, network, decoding, constraints):
            for number, row in enumerate(rows):
                (_, path), *_ = trellis.paths(number)
                best[row, : len(path)] = path
        if asked:
            found = decode(best, batch, decoding.tags)
        for segment, spans in zip(batch.segments, found, strict=True):
            parts[segment.text].append(Part(segment, spans))
    names = {label: name for name, own in decoding.labels.items() for label in own}
    results = []
    for text, some in zip(emissions.texts, parts, strict=True):
        some.sort(key=lambda part: part.segment.start)
        joined = _join(some, [part.spans for part in some], names)
        results.append(Found(text.to_characters(joined)))
    return results


def _join(
    parts: Sequence[Part], spans: Sequence[Sequence[EntitySpan]], names: Mapping[str, str]
) -> list[EntitySpan]:
    """The entities of a text with labels of Docs, from those of its parts."""
    joined = join_segments([part.segment for part in parts], spans)
    return [span._replace(label=names[span.label]) for span in joined if span.label in names]


def _trellises(
    asked: Mapping[int, Wishes],
    batch: Batch,
    scores: Tensor,
    network: TaggingNetwork,
    decoding: Decoding,
    constraints: Constraints,
) -> Iterable[tuple[list[int], Trellis]]:
    """Trellises of rows of a batch: rows with scores of entities by themselves, as they take more
    memory."""
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
        emissions = scores[rows].double().cpu().numpy()
        spans = [asked[row].scores for row in rows]
        lengths = batch.n_units[rows]
        yield (
            rows,
            Trellis(
                tags, crf._replace(emissions=emissions), lengths, allowed, barred, letters, spans
            ),
        )


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
