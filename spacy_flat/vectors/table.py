"""Vectors by key."""

from collections.abc import Callable

import numpy as np

from ..util.arrays import Float32s

FLOAT32_MAX = float(np.finfo(np.float32).max)

Keep = Callable[[str], bool]
"""Whether the vector of a key is wanted."""


class TextVectors:
    """Vectors of characters, bigrams or words: row i of `data` ([N, D], float32) is `keys[i]`'s.

    skipped: numbers of the omitted lines, or of a binary file's vectors.
    """

    # Not a dataclass: spaCy turns those into dicts when it validates the arguments of `initialize`.
    def __init__(self, keys: list[str], data: Float32s, skipped: tuple[int, ...] = ()) -> None:
        self.keys, self.data, self.skipped = keys, data, skipped

    def read(self, keep: Keep | None = None) -> "TextVectors":
        """The vectors whose keys are wanted."""
        if keep is None:
            return self
        places = [place for place, key in enumerate(self.keys) if keep(key)]
        return TextVectors([self.keys[place] for place in places], self.data[places], self.skipped)
