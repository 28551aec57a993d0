"""Vectors of a spaCy pipeline."""

from pathlib import Path

import numpy as np

from ..errors import Errors
from .table import Keep, TextVectors


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
