"""Batches of characters or words, as padded numbers.

Shapes: B segments, C units, W distinct words, S characters of a word.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...text.padding import Batch
from ...util.arrays import Bools, Ints

N_CASES = 7  # ways to write a word, with 0 for padding


@dataclass(frozen=True)
class CharBatch(Batch):
    """Some segments of characters as numbers. Keys are 0 where unknown or padding."""

    present: Bools  # [B, C] False for padding
    chars: Ints  # [B, C] keys
    bigrams: Ints  # [B, C] keys of a character and its right neighbour


@dataclass(frozen=True)
class WordBatch(Batch):
    """Some segments of words as numbers. Keys are 0 where unknown or padding."""

    present: Bools  # [B, C] False for padding
    words: Ints  # [B, C] keys
    cases: Ints  # [B, C] 0 padding
    numbers: Ints  # [B, C] rows of `spellings`
    spellings: Ints  # [W, S] keys of the characters of the distinct words, short ones first
    n_spelled: Ints  # [W] characters, ascending

    def twice(self) -> "WordBatch":
        """Each segment a second time, after all others, with spellings of its own."""
        return replace(
            super().twice(),
            numbers=np.concatenate([2 * self.numbers, 2 * self.numbers + 1]),
            spellings=self.spellings.repeat(2, axis=0),
            n_spelled=self.n_spelled.repeat(2),
        )
