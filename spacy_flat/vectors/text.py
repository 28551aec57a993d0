"""Word vectors in text form: word2vec and GloVe."""

from array import array
from collections.abc import Iterator
from itertools import chain, takewhile
from pathlib import Path

import numpy as np

from ..errors import Errors
from ..util.files import decode, read_lines
from .table import FLOAT32_MAX, Keep, TextVectors

Lines = Iterator[tuple[int, bytes]]


def read_text(path: Path, keep: Keep | None = None) -> TextVectors:
    """Read vectors in word2vec's text form: a line per word, `word number number …`.

    A header line `count width` may come first. Without it, as in GloVe's files, the first line
    gives the width. Words may contain spaces, but only two spaces make a number part of the word.
    Skips blank lines. The file may be compressed as .gz or .xz.

    keep: as in `read_vectors`. The numbers of other words aren't checked.

    Raises ValueError with file and line for a wrong encoding (F004), too few or too many numbers
    (F011), a value that isn't a finite number (F012), and for a wrong count in the header (F014).
    Raises ValueError (F010) without any line; file errors as in `read_lines`.
    """
    count, width, lines = _shape(path)
    keys: dict[str, None] = {}
    data = array("f")
    found = 0
    for number, raw in lines:
        key, numbers = _split(raw, width, path, number)
        found += 1
        if key not in keys and (keep is None or keep(key)):
            data.fromlist(_parse(numbers, path, number))
            keys[key] = None
    if found == 0:
        raise ValueError(Errors.F010.format(path=path, what="vector"))
    if count not in (None, found):
        raise ValueError(Errors.F014.format(path=path, expected=count, found=found))
    return TextVectors(list(keys), np.frombuffer(data, np.float32).reshape(len(keys), width))


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


def _split(raw: bytes, width: int, path: Path, line: int) -> tuple[str, list[bytes]]:
    """A line's word, and its numbers as text."""
    # Only the plain space separates: words may contain other kinds of space.
    pieces = raw.rstrip().split(b" ")
    key, numbers = pieces[:-width], pieces[-width:]
    if len(key) > 2 and not key[-2] and _is_number(key[-1]):
        del key[-2]  # the second of two spaces before a number
    elif key in ([], [b""]) or (len(key) > 1 and _is_number(key[-1])):
        raise ValueError(_bad_width(raw, width, path, line))
    return decode(b" ".join(key), path, line), numbers


def _parse(numbers: list[bytes], path: Path, line: int) -> list[float]:
    try:
        values = list(map(float, numbers))
    except ValueError:
        bad = next(number for number in numbers if not _is_number(number))
    else:
        if sum(map(abs, values)) <= FLOAT32_MAX:  # false for NaN, too
            return values
        bad = max(numbers, key=lambda number: not abs(float(number)) <= FLOAT32_MAX)
    value = bad.decode("utf-8", "replace")
    raise ValueError(Errors.F012.format(path=path, line=line, value=value))


def _is_number(piece: bytes) -> bool:
    try:
        float(piece)
    except ValueError:
        return False
    return True


def _bad_width(raw: bytes, width: int | str, path: Path, line: int) -> str:
    text = raw[:60].decode("utf-8", "replace").rstrip()
    return Errors.F011.format(path=path, line=line, width=width, text=text)
