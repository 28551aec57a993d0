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


def read_text(path: Path, *, skip_bad: bool = False, keep: Keep | None = None) -> TextVectors:
    """Read vectors in word2vec's text form: a line per word, `word number number …`.

    A header line `count width` may come first. Without it, as in GloVe's files, the first line
    gives the width. Words may contain spaces, but only two spaces make a number part of the word
    (see `key_in_text`). Skips blank lines. The file may be compressed as .gz or .xz.

    keep: take only the keys for which this is true; memory grows with them, not with the file. The
        numbers and repetitions of other words aren't checked (F012, F013).

    Raises ValueError with file and line for a wrong encoding (F004), too few or too many numbers
    (F011), a value that isn't a finite number (F012), a repeated word (F013), and for a wrong count
    in the header (F014). `skip_bad` omits such lines, except the first of repeated words, and lists
    them in `TextVectors.skipped`. Raises ValueError (F010) without any good line; file errors as in
    `read_lines`.
    """
    count, width, lines = _shape(path)
    keys: dict[str, None] = {}
    data = array("f")
    skipped: list[int] = []
    good = 0
    for number, raw in lines:
        try:
            key, numbers = _split(raw, width, path, number)
            if keep is None or keep(key):
                if key in keys:
                    raise ValueError(Errors.F013.format(path=path, line=number, key=key))
                data.fromlist(_parse(numbers, path, number))
                keys[key] = None
            good += 1
        except ValueError:
            if not skip_bad:
                raise
            skipped.append(number)
    if good == 0:
        raise ValueError(Errors.F010.format(path=path, what="vector"))
    if count not in (None, good) and not skip_bad:
        raise ValueError(Errors.F014.format(path=path, expected=count, found=good))
    rows = np.frombuffer(data, np.float32).reshape(len(keys), width)
    return TextVectors(list(keys), rows, tuple(skipped))


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
        del key[-2]  # the second of the two spaces of `key_in_text`
    elif key in ([], [b""]) or (len(key) > 1 and _is_number(key[-1])):
        raise ValueError(_bad_width(raw, width, path, line))
    return decode(b" ".join(key), path, line), numbers


def key_in_text(key: str) -> str:
    """A word at the start of a line. Doubles the space before a number at its end, which would
    otherwise be read as one of the vector's."""
    head, space, last = key.rpartition(" ")
    return f"{head}  {last}" if space and _is_number(last.encode()) else key


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
