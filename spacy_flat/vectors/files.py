"""Readers of vectors: text files of word2vec and GloVe, and spaCy's folders."""

from array import array
from collections.abc import Callable, Iterator
from itertools import chain, takewhile
from math import nan
from pathlib import Path

import numpy as np

from ..errors import Errors
from ..util.arrays import Float32s
from ..util.files import decode, read_lines, suffix_of

FLOAT32_MAX = float(np.finfo(np.float32).max)

Keep = Callable[[str], bool]
"""Whether the vector of a key is wanted."""
Table = tuple[list[str], Float32s]
"""Keys, and the vector of each, [N, D]."""
Lines = Iterator[tuple[int, bytes]]


def read_text(path: Path, keep: Keep | None = None) -> Table:
    """Read vectors in word2vec's text form: a line per word, `word number number …`.

    A header line `count width` may come first. Without it, as in GloVe's files, the first line
    gives the width. Words may contain spaces, but not end in a space and a number. Skips blank
    lines. The file may be compressed as .gz or .xz.

    keep: as in `read_vectors`. The numbers of other words aren't checked.

    Raises ValueError with file and line for a wrong encoding (F004), too few or too many numbers
    (F011), a value that isn't a finite number (F012), and for a wrong count in the header (F014).
    Raises ValueError without any line (F010), and for binary files (F015); file errors as in
    `read_lines`.
    """
    if suffix_of(path) == ".bin":
        raise ValueError(Errors.F015.format(path=path))
    count, width, lines = _shape(path)
    keys: dict[str, None] = {}
    data = array("f")
    found = 0
    for number, raw in lines:
        # Only the plain space separates: words may contain other kinds of space.
        pieces = raw.rstrip().split(b" ")
        word, numbers = pieces[:-width], pieces[-width:]
        if word in ([], [b""]) or (len(word) > 1 and _is_number(word[-1])):
            raise ValueError(_bad_width(raw, width, path, number))
        key = decode(b" ".join(word), path, number)
        found += 1
        if key not in keys and (keep is None or keep(key)):
            data.fromlist(_parse(numbers, path, number))
            keys[key] = None
    if found == 0:
        raise ValueError(Errors.F010.format(path=path, what="vector"))
    if count not in (None, found):
        raise ValueError(Errors.F014.format(path=path, expected=count, found=found))
    return list(keys), np.frombuffer(data, np.float32).reshape(len(keys), width)


def _shape(path: Path) -> tuple[int | None, int, Lines]:
    """The header's count, the width of the vectors, and the lines of vectors."""
    lines = ((number, raw) for number, raw in read_lines(path) if raw.strip())
    first = next(lines, None)
    if first is None:
        raise ValueError(Errors.F010.format(path=path, what="vector"))
    number, raw = first
    pieces = raw.split()
    if len(pieces) == 2 and all(piece.isdigit() for piece in pieces) and int(pieces[1]) > 0:
        return int(pieces[0]), int(pieces[1]), lines
    # The word may contain spaces, or be a number itself.
    numbers = raw.rstrip().split(b" ")[1:]
    width = sum(1 for _ in takewhile(_is_number, reversed(numbers)))
    if width == 0:
        raise ValueError(_bad_width(raw, "some", path, number))
    return None, width, chain([first], lines)


def _parse(numbers: list[bytes], path: Path, line: int) -> list[float]:
    try:
        values = list(map(float, numbers))
    except ValueError:
        values = [nan]
    if sum(map(abs, values)) <= FLOAT32_MAX:  # false for NaN, too
        return values
    bad = next((each for each in numbers if not _is_number(each)), max(numbers, key=len))
    value = bad.decode("utf-8", "replace")
    raise ValueError(Errors.F012.format(path=path, line=line, value=value))


def _is_number(piece: bytes) -> bool:
    """Whether it is one within the limits of float32."""
    try:
        return abs(float(piece)) <= FLOAT32_MAX
    except ValueError:
        return False


def _bad_width(raw: bytes, width: int | str, path: Path, line: int) -> str:
    text = raw[:60].decode("utf-8", "replace").rstrip()
    return Errors.F011.format(path=path, line=line, width=width, text=text)


def read_spacy(path: Path, keep: Keep | None = None) -> Table:
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
    table = vectors.data[[*kept.values()]] if kept else np.zeros((0, vectors.shape[1]))
    return list(kept), table.astype(np.float32)
