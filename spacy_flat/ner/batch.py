"""Padded batches of segments. Ids are 0 where unknown or padding.

Shapes: B segments, C units (characters or tokens); M lexicon words, L = C + M lattice nodes,
characters first; W distinct tokens, S characters of a token.
"""

from dataclasses import dataclass

from ..text.segments import Segment
from ..util.arrays import Bools, Ints


@dataclass(frozen=True)
class Batch:
    segments: tuple[Segment, ...]
    n_units: Ints  # [B] units of each segment


@dataclass(frozen=True)
class CharBatch(Batch):
    present: Bools  # [B, C] False for padding
    chars: Ints  # [B, C] ids
    bigrams: Ints  # [B, C] ids of a character and its right neighbour


@dataclass(frozen=True)
class LatticeBatch(CharBatch):
    """Characters and lexicon words; here `present` is [B, L]."""

    words: Ints  # [B, M] ids
    types: Ints  # [B, M] word types; 0 unknown
    lengths: Ints  # [B, M] characters of a word; 0 padding
    bands: Ints  # [B, M] bands of word frequency; 0 unknown
    heads: Ints  # [B, L] position of a node's first character in the segment
    tails: Ints  # [B, L] and of its last


@dataclass(frozen=True)
class WordBatch(Batch):
    present: Bools  # [B, C] False for padding
    words: Ints  # [B, C] ids
    cases: Ints  # [B, C] 0 padding
    numbers: Ints  # [B, C] rows of `spellings`
    spellings: Ints  # [W, S] ids of the characters of the distinct tokens, short ones first
    n_spelled: Ints  # [W] characters, ascending
