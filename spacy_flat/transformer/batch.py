"""What an encoder reads: windows of texts as padded numbers.

Shapes: B windows, S pieces of a window with one before and one behind, N characters of all texts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..text.units import Ints


@dataclass(frozen=True)
class PieceBatch:
    """Some windows as numbers, and which of their places are whose vectors."""

    pieces: Ints  # [B, S] numbers in the vocabulary
    present: NDArray[np.bool_]  # [B, S] False for padding
    places: Ints  # [n] of the characters that are taken from these windows, in B × S
    characters: Ints  # [n] and their numbers among all N
