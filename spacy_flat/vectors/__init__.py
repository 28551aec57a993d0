"""Vectors of others and of our own, in every form that they come in."""

from collections.abc import Container
from pathlib import Path

from .binary import read_binary
from .spacy import read_spacy
from .table import TextVectors
from .text import read_text

__all__ = ["TextVectors", "read_vectors"]

PACKED = (".gz", ".xz")


def read_vectors(
    path: str | Path, *, skip_bad: bool = False, keep: Container[str] | None = None
) -> TextVectors:
    """Read vectors: word2vec's text form, GloVe's, word2vec's binary form, or spaCy's.

    A folder is spaCy's: a pipeline's, or its `vocab`. A file `….bin` is binary, any other is text;
    both may be packed as .gz or .xz.

    keep: take only these words, so that memory is bounded by them and not by the file.
    skip_bad: leave bad lines out and name them in `TextVectors.skipped`, instead of raising.
    Errors as in `read_text`, `read_binary` and `read_spacy`.
    """
    path = Path(path)
    if path.is_dir():
        return read_spacy(path, keep=keep)
    name = path.with_suffix("") if path.suffix in PACKED else path
    read = read_binary if name.suffix == ".bin" else read_text
    return read(path, skip_bad=skip_bad, keep=keep)
