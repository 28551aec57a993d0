"""The network's input: padded texts, and pairs of them.

Shapes: N texts, B pairs, L units of the longest text.
"""

from dataclasses import dataclass

from ..text.segments import Segment
from ..util.arrays import Ints


@dataclass(frozen=True)
class TextBatch:
    """Distinct texts; one without units has an unknown one."""

    segments: tuple[Segment, ...]  # [N]
    n_units: Ints  # [N]
    keys: Ints  # [3, N, L] of characters, bigrams and words: 0 or less if unknown, 0 for padding


@dataclass(frozen=True)
class PairBatch:
    """Some pairs, and the distinct texts in them."""

    pairs: Ints  # [B] numbers among all pairs
    texts: TextBatch
    left: Ints  # [B] numbers among the texts
    right: Ints  # [B]
