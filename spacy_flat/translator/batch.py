"""What the network reads: both sides of pairs as padded numbers.

Shapes: B pairs, S places of the source, T places of the target, M numbers to predict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..text.padding import padding, take
from ..text.units import Ints


@dataclass(frozen=True)
class Side:
    """Texts as numbers, padded at the right."""

    keys: Ints  # [B, L], 0 for unknown characters and padding
    present: NDArray[np.bool_]  # [B, L] False for padding

    @classmethod
    def of(cls, rows: Sequence[Ints]) -> Side:
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        flat = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
        places, present = padding(counts, np.cumsum(counts) - counts)
        return cls(take(flat, places, present), present)


@dataclass(frozen=True)
class PairBatch:
    """Some pairs. In each row the next number of the target is predicted from those before it."""

    rows: Ints  # [B] which of all pairs these are
    source: Side  # [B, S]
    inputs: Side  # [B, T] each target without its last number
    targets: Ints  # [M] each target without its first number, row by row

    @classmethod
    def of(cls, rows: Ints, sources: Sequence[Ints], targets: Sequence[Ints]) -> PairBatch:
        """sources, targets: of all pairs, each with its marks."""
        own = [targets[row] for row in rows]
        return cls(
            rows,
            Side.of([sources[row] for row in rows]),
            Side.of([target[:-1] for target in own]),
            np.concatenate([target[1:] for target in own]),
        )


def like_lengths(lengths: Ints, most: int) -> Iterator[Ints]:
    """Numbers of rows that are computed together: of like lengths, the longest first, with padding
    at most `most` places, or one row.

    lengths: [rows, sides]; by the last side they are sorted first.
    """
    order = np.lexsort(lengths.T)[::-1]
    start = 0
    longest = np.zeros(lengths.shape[1], dtype=np.int64)
    for place, row in enumerate(order):
        longer = np.maximum(longest, lengths[row])
        if place > start and (place + 1 - start) * longer.sum() > most:
            yield order[start:place]
            start, longer = place, lengths[row]
        longest = longer
    if len(order):
        yield order[start:]
