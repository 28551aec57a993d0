"""The network's input: the texts of some pairs as rows of numbers.

The rows of texts follow one another without padding; `windows` says which rows a convolution sees.

Shapes: N texts, T rows, B pairs, R rows of the texts of all pairs, L units of the longest text,
S units that a convolution sees.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..text.padding import padding
from ..text.segments import Segment
from ..util.arrays import Bools, Ints

Halves = NDArray[np.float16]

MULTIPLE = 64  # the number of rows is a multiple


@dataclass(frozen=True)
class TextRows:
    """Distinct texts, then spare rows. Keys of unknown units are 0 or less."""

    segments: tuple[Segment, ...]  # [N] a text without units has one unknown row
    windows: Ints  # [T, S]
    chars: Ints  # [T] keys
    bigrams: Ints  # [T] keys of a character and its right neighbour
    words: Ints  # [T] keys of words, or of the words that contain the characters

    @property
    def keys(self) -> tuple[Ints, Ints, Ints]:
        """[T] of characters, bigrams and words."""
        return self.chars, self.bigrams, self.words


@dataclass(frozen=True)
class KnownRows:
    """Texts encoded before, without spare rows.

    Shapes: W the width of a tok2vec's vectors.
    """

    keys: Ints  # [3, T] of characters, bigrams and words
    upstream: Halves | None  # [T, W] vectors of a tok2vec
    encoded: Halves  # [T, hidden] outputs of the first encoder


@dataclass(frozen=True)
class SideRows:
    """The rows of the left or the right texts of some pairs."""

    rows: Ints  # [B, L] the text's first row for padding
    present: Bools  # [B, L] False for padding


@dataclass(frozen=True)
class Comparison:
    """The texts to compare: the rows of all pairs, left texts first, then spare rows."""

    sources: Ints  # [R] rows among those of the distinct texts
    windows: Ints  # [R, S]
    places: Ints  # [R] among the padded units of left texts, then right ones
    left: SideRows
    right: SideRows


@dataclass(frozen=True)
class PairBatch:
    """Some pairs, and the distinct texts in them."""

    pairs: Ints  # [B] numbers among all pairs
    texts: TextRows
    comparison: Comparison


def count_rows(n_units: Ints) -> int:
    """The rows of texts, with spare ones: matrix libraries prepare for each number of rows."""
    return -(-int(n_units.sum()) // MULTIPLE) * MULTIPLE


def windows(n_units: Ints, n_rows: int, reach: int) -> Ints:
    """[N] units of texts → [rows, 2 × reach + 1] the rows of the same text around each row, and
    `n_rows` beyond its ends and for spare rows."""
    ends = np.zeros(n_rows, dtype=np.int64)
    starts = np.zeros_like(ends)
    U = int(n_units.sum())
    ends[:U] = np.repeat(np.cumsum(n_units), n_units)
    starts[:U] = ends[:U] - np.repeat(n_units, n_units)
    near = np.arange(n_rows)[:, None] + np.arange(-reach, reach + 1)
    is_inside = (near >= starts[:, None]) & (near < ends[:, None])
    return np.where(is_inside, near, n_rows)


def places_of(starts: Ints, counts: Ints) -> Ints:
    """[N] starts and counts of stretches → all places in them, in order."""
    first = np.cumsum(counts) - counts
    return np.repeat(starts - first, counts) + np.arange(counts.sum())


def compare(n_units: Ints, left: Ints, right: Ints, reach: int) -> Comparison:
    """Make the rows of pairs.

    n_units: [N] units of distinct texts, whose rows follow one another.
    left, right: [B] numbers of texts.
    reach: rows that a convolution sees on either side.
    """
    numbers = np.concatenate([left, right])
    units = n_units[numbers]
    U, n_rows, B = int(units.sum()), count_rows(units), len(left)
    sources, places = np.zeros((2, n_rows), dtype=np.int64)
    sources[:U] = places_of((np.cumsum(n_units) - n_units)[numbers], units)
    starts = np.cumsum(units) - units
    sides = [side_rows(units[own], starts[own]) for own in np.s_[:B, B:]]
    places[:U] = np.flatnonzero(np.concatenate([side.present.ravel() for side in sides]))
    return Comparison(sources, windows(units, n_rows, reach), places, *sides)


def side_rows(n_units: Ints, starts: Ints) -> SideRows:
    """[B] units and first rows of texts."""
    rows, present = padding(n_units, starts)
    return SideRows(np.where(present, rows, starts[:, None]), present)


def compare_with_first(n_units: Ints, reach: int) -> Comparison:
    """Compare the first text with each of the others. n_units: [1 + B] units of all texts."""
    others = np.arange(1, len(n_units))
    return compare(n_units, np.zeros_like(others), others, reach)
