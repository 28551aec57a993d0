"""Vectors by key, as read from a file."""

import numpy as np
from numpy.typing import NDArray

FLOAT32_MAX = float(np.finfo(np.float32).max)


class TextVectors:
    """Vectors of characters, bigrams or words: row i of `data` ([N, D], float32) is `keys[i]`'s.

    skipped: the numbers of the lines, or of a binary file's vectors, that were left out.
    """

    # No dataclass: where spaCy checks the arguments of `initialize` it makes dicts of those.
    def __init__(
        self, keys: list[str], data: NDArray[np.float32], skipped: tuple[int, ...] = ()
    ) -> None:
        self.keys = keys
        self.data = data
        self.skipped = skipped
