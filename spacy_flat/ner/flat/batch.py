"""A batch of lattices, as padded numbers.

Shapes: B segments, C characters, M words, L = C + M nodes, characters first.
"""

from dataclasses import dataclass

from ...text.padding import repeat_rows
from ...text.segments import Segment
from ...util.arrays import Bools, Ints


@dataclass(frozen=True)
class LatticeBatch:
    """Some segments as numbers. Keys are 0 where unknown or padding."""

    segments: tuple[Segment, ...]
    n_units: Ints  # [B] characters
    chars: Ints  # [B, C] keys
    bigrams: Ints  # [B, C] keys of a character and its right neighbour
    words: Ints  # [B, M] keys
    types: Ints  # [B, M] word types; 0 unknown
    lengths: Ints  # [B, M] characters of a word; 0 padding
    bands: Ints  # [B, M] bands of word frequency; 0 unknown
    heads: Ints  # [B, L] place of a node's first character in the segment
    tails: Ints  # [B, L] and of its last
    present: Bools  # [B, L] False for padding

    def twice(self) -> "LatticeBatch":
        """Each segment a second time, after all others."""
        return repeat_rows(self)
