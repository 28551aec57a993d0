"""Vectors of a spaCy pipeline."""

from collections.abc import Container
from pathlib import Path

import numpy as np

from ..errors import Errors
from .table import TextVectors


def read_spacy(path: Path, *, keep: Container[str] | None = None) -> TextVectors:
    """Read the vectors of a pipeline's folder, or of its `vocab`.

    Raises ValueError where there are none (F010), or only floret's, which are made of n-grams and
    name no words (F018).
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
        raise ValueError(Errors.F010.format(path=path))
    kept = {key: row for key, row in rows.items() if keep is None or key in keep}
    data = vectors.data[list(kept.values())] if kept else np.zeros((0, vectors.shape[1]))
    return TextVectors(list(kept), data.astype(np.float32))
