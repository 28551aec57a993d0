"""Long texts in windows that a transformer reads at once.

Shapes: W windows, P pieces of all texts, C pieces of a window with a special piece at either end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..util.arrays import Bools, Ints

Spans = list[tuple[int, int]]


class Window(NamedTuple):
    """Pieces [start, end) of all texts are read; the vectors of [first, last) are kept."""

    start: int
    end: int
    first: int
    last: int


def make_windows(spans: Iterable[tuple[int, int]]) -> list[Window]:
    """Windows over sorted spans. Each keeps the half of an overlap that is farther from its
    border."""
    windows: list[Window] = []
    for start, end in spans:
        first = start
        if windows and windows[-1].end > start:
            first = (start + windows[-1].end) // 2
            windows[-1] = windows[-1]._replace(last=first)
        windows.append(Window(start, end, first, end))
    return windows


def strided_spans(length: int, width: int, overlap: int) -> Spans:
    """Spans of at most `width`, evenly spread over a text."""
    overlap = min(overlap, width // 2)
    count = max(1, -(-(length - overlap) // (width - overlap))) if length else 0
    starts = np.linspace(0, max(0, length - width), count).round().astype(np.int64)
    return [(start, min(start + width, length)) for start in starts.tolist()]


@dataclass(frozen=True)
class WindowBatch:
    """A padded batch of windows.

    places, pieces: where the kept vectors are in W × C, and of which of the P pieces.
    """

    ids: Ints  # [W, C]
    mask: Bools  # [W, C] False for padding
    places: Ints  # [n]
    pieces: Ints  # [n]
