"""Pretrained vectors for `[initialize]` of a config, registered under `@readers`."""

from pathlib import Path
from typing import Optional

from . import TextVectors, read_vectors


def vectors(path: Optional[Path], skip_bad: bool = False) -> Optional[TextVectors]:  # noqa: UP045
    """`spacy-flat.Vectors.v1`: vectors of characters, bigrams or words; none without a path."""
    return None if path is None else read_vectors(path, skip_bad=skip_bad)
