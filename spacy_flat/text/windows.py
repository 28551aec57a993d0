"""Texts in windows, each of which an encoder reads at once.

Shapes: W windows, C characters of a window with a mark at either end, N characters of all texts.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..util.arrays import Bools, Ints
from .batches import TextFeaturiser
from .padding import group_by_cost


class Window(NamedTuple):
    """Characters [start, end) of all texts are read; the vectors of [first, last) are kept."""

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


@dataclass(frozen=True)
class WindowBatch:
    """A padded batch of windows.

    places, characters: where the kept vectors are in W × C, and of which of the N characters.
    """

    keys: Ints  # [W, C]
    present: Bools  # [W, C] False for padding
    places: Ints  # [n]
    characters: Ints  # [n]


class WindowFeaturiser(TextFeaturiser):
    """The keys of characters, each by itself."""

    @abstractmethod
    def keys(self, text: str) -> Ints:
        """[N]."""

    @property
    @abstractmethod
    def marks(self) -> tuple[int, int, int]:
        """The keys of start, end and padding."""

    def batches(self, text: str, windows: Sequence[Window], most: int) -> Iterator[WindowBatch]:
        """Windows of similar length, the longest first; at most so many characters with padding, or
        one window."""
        if not windows:
            return
        keys = self.keys(text)
        lengths = np.array([window.end - window.start for window in windows])
        order = np.argsort(-lengths, kind="stable")
        for rows in group_by_cost(order, lengths, np.zeros_like(lengths), most):
            yield self._batch(keys, [windows[row] for row in rows])

    def _batch(self, flat: Ints, windows: Sequence[Window]) -> WindowBatch:
        begin, end, padding = self.marks
        width = 2 + windows[0].end - windows[0].start
        keys = np.full((len(windows), width), padding, dtype=np.int64)
        keys[:, 0] = begin
        places, characters = [], []
        for row, window in enumerate(windows):
            length = window.end - window.start
            keys[row, 1 : length + 1] = flat[window.start : window.end]
            keys[row, length + 1] = end
            characters.append(np.arange(window.first, window.last))
            places.append(row * width + 1 - window.start + characters[-1])
        lengths = np.array([window.end - window.start + 2 for window in windows])
        present = np.arange(width) < lengths[:, None]
        return WindowBatch(keys, present, np.concatenate(places), np.concatenate(characters))
