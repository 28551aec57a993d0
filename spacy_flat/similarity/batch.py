"""What the network reads: the texts of some pairs as rows of numbers.

Texts follow one another, with empty rows before, between and after them, so that a convolution over
all rows never sees two texts at once, and no text is padded to another's length.

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

MULTIPLE = 64  # the number of rows is a multiple


@dataclass(frozen=True)
class TextRows:
    """Distinct texts. Keys are 0 for empty rows, and 0 or less for unknown units."""

    segments: tuple[Segment, ...]  # [N] a text without units has one unknown row
    filled: Bools  # [T] False for empty rows
    chars: Ints  # [T] keys
    bigrams: Ints  # [T] keys of a character and its right neighbour
    words: Ints  # [T] keys of words, or of the words that contain the characters


@dataclass(frozen=True)
class KnownRows:
    """Texts encoded before, without empty rows.

    Shapes: W the width of a tok2vec's vectors.
    """

    texts: TextRows
    upstream: Halves | None  # [T, W] vectors of a tok2vec
    encoded: Halves  # [T, hidden] outputs of the first encoder


@dataclass(frozen=True)
class SideRows:
    """The rows of the left or the right texts of some pairs."""

    rows: Ints  # [B, L] 0, which is an empty row, for padding
    present: Bools  # [B, L] False for padding


@dataclass(frozen=True)
class Comparison:
    """The texts to compare: the rows of all pairs, left texts first."""

    sources: Ints  # [R] rows among those of the distinct texts; 0 for empty rows
    filled: Bools  # [R] False for empty rows
    places: Ints  # [R] among the padded units of left texts, then right ones; 0 for empty rows
    left: SideRows
    right: SideRows


@dataclass(frozen=True)
class PairBatch:
    """Some pairs, and the distinct texts in them."""

    pairs: Ints  # [B] numbers among all pairs
    texts: TextRows
    comparison: Comparison


def place_texts(n_units: Ints, gap: int) -> tuple[Ints, int]:
    """[N] units of texts → [N] the first row of each, and the number of rows. At least `gap` empty
    rows stand before, between and after the texts."""
    ends = np.cumsum(n_units + gap)
    # Matrix libraries prepare for each number of rows, so keep these few.
    n_rows = -(-(int(ends[-1]) + gap) // MULTIPLE) * MULTIPLE
    return ends - n_units, n_rows


def places_of(starts: Ints, counts: Ints) -> Ints:
    """[N] starts and counts of stretches → all places in them, in order."""
    first = np.cumsum(counts) - counts
    return np.repeat(starts - first, counts) + np.arange(counts.sum())


def compare(starts: Ints, n_units: Ints, left: Ints, right: Ints, gap: int) -> Comparison:
    """Make the rows of pairs.

    starts, n_units: [N] first rows and units of distinct texts.
    left, right: [B] numbers of texts.
    """
    numbers = np.concatenate([left, right])
    units = n_units[numbers]
    own_starts, n_rows = place_texts(units, gap)
    rows = places_of(own_starts, units)
    filled = np.zeros(n_rows, dtype=np.bool_)
    filled[rows] = True
    sources, places = np.zeros((2, n_rows), dtype=np.int64)
    sources[rows] = places_of(starts[numbers], units)
    B = len(left)
    sides = [SideRows(*padding(units[own], own_starts[own])) for own in np.s_[:B, B:]]
    places[rows] = np.flatnonzero(np.concatenate([side.present.ravel() for side in sides]))
    return Comparison(sources, filled, places, *sides)


def compare_with_first(n_first: int, n_units: Ints, gap: int) -> Comparison:
    """Compare the first text with each of the others.

    n_first: rows of the first text with the empty ones around it; the others follow without any.
    n_units: [1 + B] units of all texts.
    """
    starts = n_first - n_units[0] + np.cumsum(n_units) - n_units
    starts[0] = gap
    others = np.arange(1, len(n_units))
    return compare(starts, n_units, np.zeros_like(others), others, gap)
