"""word2vec's binary form: a header line, then each word, a space, and its numbers."""

from collections.abc import Container
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from ..util.files import ByteStream, open_file, reading
from .table import Keep, TextVectors

PIECE = 1 << 20  # bytes read at once
LONGEST_WORD = 10_000  # bytes; what has longer ones is not a file of vectors


def read_binary(path: Path, *, skip_bad: bool = False, keep: Keep | None = None) -> TextVectors:
    """Read the binary form, with little-endian float32 numbers.

    keep: take only the keys for which this is true; memory is bounded by them, not by the file.

    Raises ValueError with file and vector for a missing header (F015), for a file that ends too
    early (F014), and for a bad or repeated word or a number that is not finite (F017). With
    `skip_bad` such vectors are left out and listed in `TextVectors.skipped`. Raises ValueError
    (F010) where no vector is good.
    """
    keys: dict[str, None] = {}
    rows: list[NDArray[np.float32]] = []
    skipped: list[int] = []
    number, good = 0, 0
    with reading(path, lambda: number), open_file(path) as stream:
        count, width = _header(stream, path)
        records = _Records(stream, 4 * width)
        for number in range(1, count + 1):
            record = records.next()
            if record is None:
                if not skip_bad:
                    raise ValueError(
                        Errors.F014.format(path=path, expected=count, found=number - 1)
                    )
                skipped.append(number)
                break
            key, row = record
            fault = _fault(key, row, keys)
            if not fault:
                word = key.decode()
                good += 1
                if keep is None or keep(word):
                    keys[word] = None
                    rows.append(row)
            elif skip_bad:
                skipped.append(number)
            else:
                raise ValueError(Errors.F017.format(path=path, number=number, fault=fault))
    if good == 0:
        raise ValueError(Errors.F010.format(path=path, what="vector"))
    data = np.array(rows, dtype=np.float32).reshape(len(rows), width)
    return TextVectors(list(keys), data, tuple(skipped))


def _header(stream: ByteStream, path: Path) -> tuple[int, int]:
    """The number of vectors, and their width."""
    line = stream.readline(100)
    pieces = line.split()
    if len(pieces) != 2 or not all(piece.isdigit() for piece in pieces) or int(pieces[1]) == 0:
        raise ValueError(Errors.F015.format(path=path, found=line[:40]))
    return int(pieces[0]), int(pieces[1])


class _Records:
    """The words and their numbers, one after the other."""

    def __init__(self, stream: ByteStream, size: int) -> None:
        self.stream = stream
        self.size = size
        self.buffer = b""
        self.place = 0  # of the next record in the buffer

    def next(self) -> tuple[bytes, NDArray[np.float32]] | None:
        """The next word and its numbers, [D]; None where the file ends first."""
        space = self.buffer.find(b" ", self.place)
        while space < 0 or len(self.buffer) < space + 1 + self.size:
            piece = self.stream.read(PIECE)
            if not piece or (space < 0 and len(self.buffer) - self.place > LONGEST_WORD):
                return None
            self.buffer, self.place = self.buffer[self.place :] + piece, 0
            space = self.buffer.find(b" ")
        row = np.frombuffer(self.buffer, "<f4", self.size // 4, space + 1)
        # The original program ends each vector with a line break, others do not.
        key = self.buffer[self.place : space].lstrip(b"\n")
        self.place = space + 1 + self.size
        return key, row.astype(np.float32)


def _fault(key: bytes, row: NDArray[np.float32], met: Container[str]) -> str:
    """What is wrong with a vector, "" if nothing is. met: the words before it."""
    try:
        word = key.decode()
    except UnicodeDecodeError:
        return f"its word {key[:40]!r} is not UTF-8"
    if not word:
        return "it has no word"
    if not np.isfinite(row).all():
        return f"a number of {word!r} is not finite"
    return f"it is the second vector of {word!r}" if word in met else ""
