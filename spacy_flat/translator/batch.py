"""The network's input: both sides of pairs as padded numbers.

Shapes: B pairs, S places of the source, T places of the target, M numbers to predict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..text.padding import group_by_cost, padding, take
from ..util.arrays import Bools, Ints


@dataclass(frozen=True)
class PaddedKeys:
    """Texts as numbers, padded on the right."""

    keys: Ints  # [B, L], 0 for unknown characters and padding
    present: Bools  # [B, L] False for padding

    @classmethod
    def of(cls, rows: Sequence[Ints]) -> PaddedKeys:
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        flat = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
        places, present = padding(counts, np.cumsum(counts) - counts)
        return cls(take(flat, places, present), present)

    def twice(self) -> PaddedKeys:
        return PaddedKeys(np.tile(self.keys, (2, 1)), np.tile(self.present, (2, 1)))


@dataclass(frozen=True)
class TranslationBatch:
    """Some pairs. Each row predicts the next number of the target from those before it."""

    rows: Ints  # [B] numbers among all pairs
    source: PaddedKeys  # [B, S]
    inputs: PaddedKeys  # [B, T] each target without its last number
    targets: Ints  # [M] each target without its first number, row by row

    @classmethod
    def of(cls, rows: Ints, sources: Sequence[Ints], targets: Sequence[Ints]) -> TranslationBatch:
        """sources, targets: of all pairs, each with its marks."""
        own = [targets[row] for row in rows]
        return cls(
            rows,
            PaddedKeys.of([sources[row] for row in rows]),
            PaddedKeys.of([target[:-1] for target in own]),
            np.concatenate([target[1:] for target in own]),
        )

    def twice(self) -> TranslationBatch:
        """Each pair is read a second time, after all others; `rows` and `targets` stay."""
        return replace(self, source=self.source.twice(), inputs=self.inputs.twice())


def like_lengths(lengths: Ints, most: int) -> Iterator[Ints]:
    """Rows of similar lengths to compute together: longest first, at most `most` places with
    padding, or one row.

    lengths: [rows, 1 or 2 sides]; sorted by the last side first.
    """
    order = np.lexsort(lengths.T)[::-1]
    if len(order):
        yield from group_by_cost(order, lengths[:, 0], lengths[:, 1:].sum(axis=1), most)
