"""Pretrained vectors in all common forms."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Optional

from ..errors import Errors
from ..util.arrays import Float32s
from ..util.files import require_exists
from .files import Keep, read_spacy, read_text


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


class VectorFile:
    """A file of vectors, read once it is known which are wanted.

    Raises FileNotFoundError (F001) at once if it is missing.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        require_exists(self.path)

    def read(self, keep: Keep | None = None) -> TextVectors:
        """Read the wanted vectors; errors as in `read_vectors`."""
        return read_vectors(self.path, keep=keep)


VectorSource = TextVectors | VectorFile
"""Pretrained vectors of a component."""


def read_vectors(path: str | Path, *, keep: Keep | None = None) -> TextVectors:
    """Read vectors in text files of word2vec or GloVe, which may be compressed as .gz or .xz, or
    spaCy's (the folder of a pipeline or of its `vocab`). Of repeated words the first counts.

    keep: take only the keys for which this is true. Memory then grows with them, not with the file.
    Errors as in `read_text` and `read_spacy`.
    """
    path = Path(path)
    read = read_spacy if path.is_dir() else read_text
    return TextVectors(*read(path, keep))


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
