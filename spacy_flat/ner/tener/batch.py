"""Batches of characters or words, as padded numbers.

Shapes: B segments, C units, W distinct words, S characters of a word.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...text.padding import repeat_rows
from ...text.segments import Segment
from ...util.arrays import Bools, Ints

N_CASES = 7  # ways to write a word, with 0 for padding


@dataclass(frozen=True)
class CharBatch:
    """Some segments of characters as numbers. Keys are 0 where unknown or padding."""

    segments: tuple[Segment, ...]
    n_units: Ints  # [B] characters
    present: Bools  # [B, C] False for padding
    chars: Ints  # [B, C] keys
    bigrams: Ints  # [B, C] keys of a character and its right neighbour

    def twice(self) -> "CharBatch":
        """Each segment a second time, after all others."""
        return repeat_rows(self)


@dataclass(frozen=True)
class WordBatch:
    """Some segments of words as numbers. Keys are 0 where unknown or padding."""

    segments: tuple[Segment, ...]
    n_units: Ints  # [B] words
    present: Bools  # [B, C] False for padding
    words: Ints  # [B, C] keys
    cases: Ints  # [B, C] 0 padding
    numbers: Ints  # [B, C] rows of `spellings`
    spellings: Ints  # [W, S] keys of the characters of the distinct words, short ones first
    n_spelled: Ints  # [W] characters, ascending

    def twice(self) -> "WordBatch":
        """Each segment a second time, after all others, with spellings of its own."""
        return replace(
            repeat_rows(self),
            numbers=np.concatenate([2 * self.numbers, 2 * self.numbers + 1]),
            spellings=self.spellings.repeat(2, axis=0),
            n_spelled=self.n_spelled.repeat(2),
        )
