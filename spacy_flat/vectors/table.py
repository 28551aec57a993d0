"""Vectors by key, and those of a spaCy pipeline."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import Errors
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


def read_spacy(path: Path, keep: Keep | None = None) -> TextVectors:
    """Read the vectors of a pipeline's folder, or of its `vocab`; spaCy loads all of them first.

    Raises ValueError for a folder that spaCy can't load (F019), without vectors (F010), or with
    floret vectors, which belong to n-grams (F018).
    """
    from spacy.vocab import Vocab
    from thinc.api import NumpyOps

    folder = path / "vocab" if (path / "vocab").is_dir() else path
    try:
        vocab = Vocab().from_disk(folder)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(Errors.F019.format(path=path, reason=error)) from error
    vectors = vocab.vectors
    if vectors.mode == "floret":
        raise ValueError(Errors.F018.format(path=path))
    vectors.to_ops(NumpyOps())
    rows = {vocab.strings[key]: row for key, row in vectors.key2row.items()}
    if not rows:
        raise ValueError(Errors.F010.format(path=path, what="vector"))
    kept = {key: row for key, row in rows.items() if keep is None or keep(key)}
    data = vectors.data[list(kept.values())] if kept else np.zeros((0, vectors.shape[1]))
    return TextVectors(list(kept), data.astype(np.float32))
