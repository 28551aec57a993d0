"""Pretrained vectors in all common forms."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Optional

from ..errors import Errors
from ..util.files import require_exists, suffix_of
from .binary import read_binary
from .table import FLOAT32_MAX, Keep, TextVectors, read_spacy
from .text import read_text

__all__ = [
    "FLOAT32_MAX",
    "Keep",
    "TextVectors",
    "VectorFile",
    "VectorSource",
    "check_sources",
    "check_unused",
    "read_vectors",
]


def read_vectors(path: str | Path, *, keep: Keep | None = None) -> TextVectors:
    """Read vectors of word2vec (text, or binary in a file `….bin`), GloVe, or spaCy (the folder of
    a pipeline or of its `vocab`). Files may be compressed as .gz or .xz. Of repeated words the
    first counts.

    keep: take only the keys for which this is true. Memory then grows with them, not with the file.
    Errors as in `read_text`, `read_binary` and `read_spacy`.
    """
    path = Path(path)
    if path.is_dir():
        return read_spacy(path, keep)
    read = read_binary if suffix_of(path) == ".bin" else read_text
    return read(path, keep)


class VectorFile:
    """A file of vectors, read once it is known which are wanted.

    Raises FileNotFoundError (F001) at once if it is missing.
    """

    # Not a dataclass, as `TextVectors`.
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        require_exists(self.path)

    def read(self, keep: Keep | None = None) -> TextVectors:
        """Read the wanted vectors; errors as in `read_vectors`."""
        return read_vectors(self.path, keep=keep)


VectorSource = TextVectors | VectorFile
"""Pretrained vectors of a component."""


def vectors(
    path: Optional[Path],  # noqa: UP045  (thinc validates by it)
    skip_bad: Literal[False] = False,
) -> Optional[VectorFile]:  # noqa: UP045
    """`spacy-flat.Vectors.v1`: vectors of characters, of bigrams or of words.

    path: a file, or a folder of spaCy's; null for none.
    skip_bad: without effect, for configs of earlier versions.
    """
    return None if path is None else VectorFile(path)


def check_sources(**sources: object) -> None:
    """Raise TypeError (F040) for an argument that is not a source of vectors or None."""
    for name, source in sources.items():
        if not isinstance(source, VectorSource | None):
            raise TypeError(Errors.F040.format(name=name, value=f"{source!r:.60}"))


def check_unused(
    name: str, setting: str, sources: Mapping[str, VectorSource | None], unused: Iterable[str]
) -> None:
    """Raise ValueError (F325) for vectors that a component with this setting doesn't use."""
    for given in unused:
        if sources[given] is not None:
            raise ValueError(Errors.F325.format(name=name, given=given, setting=setting))
