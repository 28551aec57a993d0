"""Texts in windows, each of which an encoder reads at once.

Shapes: W windows, P pieces of all texts, C pieces of a window with a mark at either end. A piece is
a character, or one of a subword vocabulary.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ..util.arrays import Bools, Ints
from .featuriser import TextFeaturiser
from .padding import group_by_cost


class Window(NamedTuple):
    """Pieces [start, end) of all texts are read; the vectors of [first, last) are kept."""

    start: int
    end: int
    first: int
    last: int


def make_windows(spans: Iterable[tuple[int, int]]) -> list[Window]:
    """Windows over sorted spans. Of what two of them share each keeps the half that is farther
    from its border."""
    windows: list[Window] = []
    for start, end in spans:
        first = start
        if windows and windows[-1].end > start:
            first = (start + windows[-1].end) // 2
            windows[-1] = windows[-1]._replace(last=first)
        windows.append(Window(start, end, first, end))
    return windows


def spread_windows(lengths: Sequence[int], width: int, overlap: int) -> list[Window]:
    """Windows spread evenly over texts of these lengths."""
    overlap = min(overlap, width // 2)
    spans: list[tuple[int, int]] = []
    for offset, length in zip(accumulate(lengths, initial=0), lengths, strict=False):
        count = max(1, -(-(length - overlap) // (width - overlap))) if length else 0
        starts = np.linspace(0, max(0, length - width), count).round().astype(np.int64)
        spans += [(offset + n, offset + min(n + width, length)) for n in starts.tolist()]
    return make_windows(spans)


@dataclass(frozen=True)
class WindowBatch:
    """A padded batch of windows.

    places, pieces: where the kept vectors are in W × C, and of which of the P pieces.
    """

    keys: Ints  # [W, C]
    present: Bools  # [W, C] False for padding
    places: Ints  # [n]
    pieces: Ints  # [n]


class WindowFeaturiser(TextFeaturiser):
    """Makes batches of windows over the keys of pieces."""

    @property
    @abstractmethod
    def marks(self) -> tuple[int, int, int]:
        """The keys of start, end and padding."""

    def batches(self, keys: Ints, windows: Sequence[Window], most: int) -> Iterator[WindowBatch]:
        """Windows of similar length over keys [P], the longest first; at most so many pieces with
        padding, or one window."""
        if not windows:
            return
        lengths = np.array([window.end - window.start for window in windows])
        order = np.argsort(-lengths, kind="stable")
        for rows in group_by_cost(order, lengths, np.zeros_like(lengths), most):
            yield self._batch(keys, [windows[row] for row in rows])

    def _batch(self, flat: Ints, windows: Sequence[Window]) -> WindowBatch:
        begin, end, padding = self.marks
        width = 2 + windows[0].end - windows[0].start
        keys = np.full((len(windows), width), padding, dtype=np.int64)
        keys[:, 0] = begin
        places, pieces = [], []
        for row, window in enumerate(windows):
            length = window.end - window.start
            keys[row, 1 : length + 1] = flat[window.start : window.end]
            keys[row, length + 1] = end
            pieces.append(np.arange(window.first, window.last))
            places.append(row * width + 1 - window.start + pieces[-1])
        lengths = np.array([window.end - window.start + 2 for window in windows])
        present = np.arange(width) < lengths[:, None]
        return WindowBatch(keys, present, np.concatenate(places), np.concatenate(pieces))
