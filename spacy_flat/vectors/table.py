"""Vectors by key."""

from collections.abc import Callable

import numpy as np

from ..util.arrays import Float32s

FLOAT32_MAX = float(np.finfo(np.float32).max)

Keep = Callable[[str], bool]
"""Whether the vector of a key is wanted."""


class TextVectors:
    """Vectors of characters, bigrams or words: row i of `data` ([N, D], float32) is `keys[i]`'s."""

    # Not a dataclass: spaCy turns those into dicts when it validates the arguments of `initialize`.
    def __init__(self, keys: list[str], data: Float32s) -> None:
        self.keys, self.data = keys, data

    def read(self, keep: Keep | None = None) -> "TextVectors":
        """The vectors whose keys are wanted."""
        if keep is None:
            return self
        rows = [row for row, key in enumerate(self.keys) if keep(key)]
        return TextVectors([self.keys[row] for row in rows], self.data[rows])
