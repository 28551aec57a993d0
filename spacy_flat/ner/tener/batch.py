"""Batches of characters or words, as padded numbers.

Shapes: B segments, C units, W distinct words, S characters of a word.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...text.segments import Segment
from ...text.units import Ints

N_CASES = 7  # ways to write a word, with 0 for padding


@dataclass(frozen=True)
class CharBatch:
    """Some segments of characters as numbers. Keys are 0 where unknown or padding."""

    segments: tuple[Segment, ...]
    n_units: Ints  # [B] characters
    present: NDArray[np.bool_]  # [B, C] False for padding
    chars: Ints  # [B, C] keys
    bigrams: Ints  # [B, C] keys of a character and its right neighbour


@dataclass(frozen=True)
class WordBatch:
    """Some segments of words as numbers. Keys are 0 where unknown or padding."""

    segments: tuple[Segment, ...]
    n_units: Ints  # [B] words
    present: NDArray[np.bool_]  # [B, C] False for padding
    words: Ints  # [B, C] keys
    cases: Ints  # [B, C] 0 padding
    numbers: Ints  # [B, C] rows of `spellings`
    spellings: Ints  # [W, S] keys of the characters of the distinct words, short ones first
    n_spelled: Ints  # [W] characters, ascending
