"""The network's input: both sides of pairs as padded ids.

Shapes: B pairs, S positions of the source, T positions of the target, M ids to predict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..text.padding import group_by_cost, padding, take
from ..util.arrays import Bools, Ints


@dataclass(frozen=True)
class PaddedIds:
    """Texts as ids, padded on the right."""

    ids: Ints  # [B, L], 0 for unknown characters and padding
    present: Bools  # [B, L] False for padding

    @classmethod
    def of(cls, rows: Sequence[Ints]) -> PaddedIds:
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        flat = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
        places, present = padding(counts, np.cumsum(counts) - counts)
        return cls(take(flat, places, present), present)

    def twice(self) -> PaddedIds:
        return PaddedIds(np.tile(self.ids, (2, 1)), np.tile(self.present, (2, 1)))


@dataclass(frozen=True)
class TranslationBatch:
    """Some pairs. Each row predicts the next id of the target from those before it."""

    rows: Ints  # [B] numbers among all pairs
    source: PaddedIds  # [B, S]
    inputs: PaddedIds  # [B, T] each target without its last id
    targets: Ints  # [M] each target without its first id, row by row

    @classmethod
    def of(cls, rows: Ints, sources: Sequence[Ints], targets: Sequence[Ints]) -> TranslationBatch:
        """sources, targets: of all pairs, each with its marks."""
        own = [targets[row] for row in rows]
        return cls(
            rows,
            PaddedIds.of([sources[row] for row in rows]),
            PaddedIds.of([target[:-1] for target in own]),
            np.concatenate([target[1:] for target in own]),
        )

    def twice(self) -> TranslationBatch:
        """Repeat all pairs, for R-Drop; `rows` and `targets` stay."""
        return replace(self, source=self.source.twice(), inputs=self.inputs.twice())


def similar_lengths(lengths: Ints, max_size: int) -> Iterator[Ints]:
    """Group rows of similar lengths, longest first: at most `max_size` positions with padding, or
    one row.

    lengths: [rows, 1 or 2 sides]; sorted by the last side first.
    """
    order = np.lexsort(lengths.T)[::-1]
    if len(order):
        yield from group_by_cost(order, lengths[:, 0], lengths[:, 1:].sum(axis=1), max_size)
