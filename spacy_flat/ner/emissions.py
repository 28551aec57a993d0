"""What a network says of the tags of texts, and what that is compared with or decoded to.

Shapes: B segments, C units, K tags.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..text.batches import Batch
from ..text.segments import Segment, join_segments, spans_within
from ..text.units import EntitySpan, Ints, Units
from .tags import TagSet

if TYPE_CHECKING:
    from torch import Tensor

    from .network import TaggingNetwork


class BatchEmissions(NamedTuple):
    """Scores [B, C, K] of the tags of a batch's units."""

    batch: Batch
    scores: "Tensor"


@dataclass(frozen=True)
class Emissions:
    """The scores of texts, batch by batch.

    segments: of all texts, in any order.
    batches: each is computed when its turn comes, once.
    """

    texts: Sequence[Units]
    segments: Sequence[Segment]
    batches: Iterator[BatchEmissions]


def find_entities(
    emissions: Emissions, network: "TaggingNetwork", tags: TagSet
) -> list[list[EntitySpan]]:
    """The entities of the most probable tags of each text, as characters of it."""
    parts: list[list[tuple[Segment, list[EntitySpan]]]] = [[] for _ in emissions.texts]
    for batch, scores in emissions.batches:
        best = network.best_tags(scores, batch.n_units)
        for segment, spans in zip(batch.segments, decode(best, batch, tags), strict=True):
            parts[segment.text].append((segment, spans))
    return [
        text.to_characters(_join(some)) for text, some in zip(emissions.texts, parts, strict=True)
    ]


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


class Target(NamedTuple):
    """What a batch's tags should be.

    tags: [B, C]. lengths: [B] units. weights: [B] of the segments in the loss.
    """

    tags: Ints
    lengths: Ints
    weights: NDArray[np.float32]


@dataclass(frozen=True)
class Gold:
    """What is known of texts.

    spans: the entities of each text, as sorted spans of its units; None where nothing is known.
    n_known: segments of which something is known.
    """

    spans: Sequence[Sequence[EntitySpan] | None]
    n_known: int

    @classmethod
    def of(cls, characters: Sequence[Sequence[EntitySpan] | None], emissions: Emissions) -> "Gold":
        """From entities as characters of the texts."""
        spans = [
            None if known is None else text.from_characters(known)
            for text, known in zip(emissions.texts, characters, strict=True)
        ]
        return cls(spans, sum(spans[segment.text] is not None for segment in emissions.segments))

    def target(self, batch: Batch, tags: TagSet) -> Target:
        """The loss is the mean over all segments of which something is known. An entity that a
        segment cuts is an entity there.

        Raises ValueError (F233) for a label that has no tags.
        """
        best = np.zeros((len(batch.segments), int(batch.n_units.max())), dtype=np.int64)
        known = np.zeros(len(batch.segments))
        for row, segment in enumerate(batch.segments):
            spans = self.spans[segment.text]
            if spans is not None:
                known[row] = 1
                length = segment.end - segment.start
                best[row, :length] = tags.encode(spans_within(spans, segment), length)
        weights = (known / max(1, self.n_known)).astype(np.float32)
        return Target(best, batch.n_units, weights)


def _join(parts: list[tuple[Segment, list[EntitySpan]]]) -> list[EntitySpan]:
    """What was found in the segments of one text, which come in any order."""
    parts.sort(key=lambda part: part[0].start)
    return join_segments([segment for segment, _ in parts], [spans for _, spans in parts])
