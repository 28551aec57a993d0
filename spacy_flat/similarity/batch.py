"""What the network reads: the texts of some pairs as rows of numbers.

The texts stand one below the other, with empty rows before, between and after them, so that a
convolution of all rows never sees two texts at once, and no text is padded to another's length.

Shapes: N texts, T rows, B pairs, R rows of the texts of all pairs, L units of the longest text.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..text.padding import padding
from ..text.segments import Segment
from ..text.units import Ints

Bools = NDArray[np.bool_]
Halves = NDArray[np.float16]

MULTIPLE = 64  # of which the number of rows is one


@dataclass(frozen=True)
class TextRows:
    """Distinct texts. Keys are 0 where unknown, and in empty rows."""

    segments: tuple[Segment, ...]  # [N] a text without units has one row that is unknown
    filled: Bools  # [T] False for empty rows
    chars: Ints  # [T] keys
    bigrams: Ints  # [T] keys of a character and its right neighbour
    words: Ints  # [T] keys of words, or of the words that characters are in


@dataclass(frozen=True)
class KnownRows:
    """Texts that were encoded before; no rows are empty.

    Shapes: W the width of a tok2vec's vectors.
    """

    texts: TextRows
    upstream: Halves | None  # [T, W] vectors of a tok2vec
    encoded: Halves  # [T, hidden] what the first featuriser makes of the texts


@dataclass(frozen=True)
class Side:
    """The left texts of some pairs, or the right ones: where each unit is among the rows."""

    rows: Ints  # [B, L] 0, which is an empty row, for padding
    present: Bools  # [B, L] False for padding


@dataclass(frozen=True)
class Comparison:
    """Which texts to compare: the rows of all pairs, first those of the left texts."""

    sources: Ints  # [R] rows among those of the distinct texts; 0, an empty row, for empty rows
    filled: Bools  # [R] False for empty rows
    places: Ints  # [R] among the padded units of left texts, then right ones; 0 for empty rows
    left: Side
    right: Side


@dataclass(frozen=True)
class PairBatch:
    """Some pairs, and the distinct texts in them.

    pairs: [B] numbers of the pairs among all.
    """

    pairs: Ints
    texts: TextRows
    comparison: Comparison


def place_texts(n_units: Ints, gap: int) -> tuple[Ints, int]:
    """[N] units of texts → [N] the first row of each, and the number of rows; there are `gap` empty
    rows or more before, between and after them."""
    ends = np.cumsum(n_units + gap)
    # Few distinct numbers of rows, for each of which matrix libraries prepare themselves.
    n_rows = -(-(int(ends[-1]) + gap) // MULTIPLE) * MULTIPLE
    return ends - n_units, n_rows


def places_of(starts: Ints, counts: Ints) -> Ints:
    """[N] starts and counts of stretches → the places in all of them, one after the other."""
    first = np.cumsum(counts) - counts
    return np.repeat(starts - first, counts) + np.arange(counts.sum())


def compare(starts: Ints, n_units: Ints, left: Ints, right: Ints, gap: int) -> Comparison:
    """starts, n_units: [N] first rows and units of distinct texts.
    left, right: [B] numbers of texts.
    """
    numbers = np.concatenate([left, right])
    own_starts, n_rows = place_texts(n_units[numbers], gap)
    units = n_units[numbers]
    rows = places_of(own_starts, units)
    sources = np.zeros(n_rows, dtype=np.int64)
    sources[rows] = places_of(starts[numbers], units)
    filled = np.zeros(n_rows, dtype=np.bool_)
    filled[rows] = True
    B = len(left)
    sides = [Side(*padding(units[own], own_starts[own])) for own in (slice(B), slice(B, None))]
    places = np.zeros(n_rows, dtype=np.int64)
    places[rows] = np.flatnonzero(np.concatenate([side.present.ravel() for side in sides]))
    return Comparison(sources, filled, places, *sides)


def compare_with_first(n_first: int, n_units: Ints, gap: int) -> Comparison:
    """The first of some texts beside each of the others.

    n_first: rows of the first text, with empty ones before and behind it; the units of the others
        follow without any.
    n_units: [1 + B] units of all texts.
    """
    starts = n_first - n_units[0] + np.cumsum(n_units) - n_units
    starts[0] = gap
    others = np.arange(1, len(n_units))
    return compare(starts, n_units, np.zeros_like(others), others, gap)
