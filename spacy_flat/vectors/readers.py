"""Pretrained vectors for `[initialize]` of a config, registered under `@readers`."""

from pathlib import Path
from typing import Optional

from . import VectorFile


def vectors(path: Optional[Path], skip_bad: bool = False) -> Optional[VectorFile]:  # noqa: UP045
    """`spacy-flat.Vectors.v1`: vectors of characters, of bigrams or of words.

    path: a file, or a folder of spaCy's; null for none.
    skip_bad: omit bad lines, instead of raising.
    """
    return None if path is None else VectorFile(path, skip_bad=skip_bad)
