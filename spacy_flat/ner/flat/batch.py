"""A batch of lattices, as padded numbers.

Shapes: B segments, C characters, M words, L = C + M nodes, characters first.
"""

from dataclasses import dataclass

from ...text.padding import Batch
from ...util.arrays import Bools, Ints


@dataclass(frozen=True)
class LatticeBatch(Batch):
    """Some segments as numbers. Keys are 0 where unknown or padding."""

    chars: Ints  # [B, C] keys
    bigrams: Ints  # [B, C] keys of a character and its right neighbour
    words: Ints  # [B, M] keys
    types: Ints  # [B, M] word types; 0 unknown
    lengths: Ints  # [B, M] characters of a word; 0 padding
    bands: Ints  # [B, M] bands of word frequency; 0 unknown
    heads: Ints  # [B, L] place of a node's first character in the segment
    tails: Ints  # [B, L] and of its last
    present: Bools  # [B, L] False for padding
