"""The network's input: both sides of pairs as padded ids.

Shapes: B pairs, S positions of the source, T positions of the target, M ids to predict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..text.batches import batch_by_cost, padding
from ..util.arrays import Bools, Ints

# Ids that both sides have before those of their characters or pieces
UNKNOWN, START, END = 0, 1, 2
NAMES = 3  # the first placeholder


@dataclass(frozen=True)
class PaddedIds:
    """Texts as ids, padded on the right."""

    ids: Ints  # [B, L], 0 for unknown characters and padding
    present: Bools  # [B, L] False for padding

    @classmethod
    def of(cls, rows: Sequence[Ints]) -> PaddedIds:
        places, present = padding(np.array([len(row) for row in rows]))
        return cls(np.where(present, np.concatenate(rows)[places], 0), present)


@dataclass(frozen=True)
class TranslationBatch:
    """Some pairs. Each row predicts the next id of the target from those before it."""

    source: PaddedIds  # [B, S]
    inputs: PaddedIds  # [B, T] each target without its last id
    targets: Ints  # [M] each target without its first id, row by row

    @classmethod
    def of(cls, sources: Sequence[Ints], targets: Sequence[Ints]) -> TranslationBatch:
        """sources, targets: with their marks."""
        return cls(
            PaddedIds.of(sources),
            PaddedIds.of([target[:-1] for target in targets]),
            np.concatenate([target[1:] for target in targets]),
        )


def similar_lengths(sides: Sequence[Sequence[Ints]], max_size: int) -> Iterator[Ints]:
    """Group rows of similar lengths, longest first: at most `max_size` positions, or one row.

    sides: the sources, or also the targets, by which rows are sorted first.
    """
    lengths = np.array([[len(row) for row in side] for side in sides], dtype=np.int64)
    return batch_by_cost(lengths[0], max_size, lengths[1:].sum(axis=0), np.lexsort(lengths)[::-1])
