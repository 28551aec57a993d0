"""word2vec's binary form: a header line, then each word, a space, and its numbers."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..errors import Errors
from ..util.arrays import Float32s
from ..util.files import ByteStream, open_file, reading
from .table import Keep, TextVectors

PIECE = 1 << 20  # bytes read at once
LONGEST_WORD = 10_000  # bytes; a file with longer words isn't one of vectors


def read_binary(path: Path, keep: Keep | None = None) -> TextVectors:
    """Read the binary form, with little-endian float32 numbers. keep: as in `read_vectors`.

    Raises ValueError for a missing header (F015), a truncated file (F014), a word that isn't UTF-8
    or a number that isn't finite (F017), and without any vector (F010).
    """
    rows: dict[str, Float32s] = {}
    number = 0
    with reading(path, lambda: number), open_file(path) as stream:
        count, width = _header(stream, path)
        records = _records(stream, width)
        for number in range(1, count + 1):
            record = next(records, None)
            if record is None:
                words = {"expected": count, "found": number - 1}
                raise ValueError(Errors.F014.format(path=path, **words))
            key, row = record
            try:
                word = key.decode()
                fault = "" if np.isfinite(row).all() else f"a number of {word!r} is not finite"
            except UnicodeDecodeError:
                fault = f"its word {key[:40]!r} is not UTF-8"
            if fault:
                raise ValueError(Errors.F017.format(path=path, number=number, fault=fault))
            if keep is None or keep(word):
                rows.setdefault(word, row)
    if count == 0:
        raise ValueError(Errors.F010.format(path=path, what="vector"))
    data = np.array(list(rows.values()), dtype=np.float32).reshape(len(rows), width)
    return TextVectors(list(rows), data)


def _header(stream: ByteStream, path: Path) -> tuple[int, int]:
    """The number of vectors, and their width."""
    line = stream.readline(100)
    pieces = line.split()
    if len(pieces) != 2 or not all(piece.isdigit() for piece in pieces) or int(pieces[1]) == 0:
        raise ValueError(Errors.F015.format(path=path, found=line[:40]))
    return int(pieces[0]), int(pieces[1])


def _records(stream: ByteStream, width: int) -> Iterator[tuple[bytes, Float32s]]:
    """Words and their numbers, [D], until the file ends."""
    buffer, place, size = b"", 0, 4 * width
    while True:
        space = buffer.find(b" ", place)
        while space < 0 or len(buffer) < space + 1 + size:
            piece = stream.read(PIECE)
            if not piece or (space < 0 and len(buffer) - place > LONGEST_WORD):
                return
            buffer, place = buffer[place:] + piece, 0
            space = buffer.find(b" ")
        row = np.frombuffer(buffer, "<f4", width, space + 1)
        # The original program ends each vector with a line break, others don't.
        yield buffer[place:space].lstrip(b"\n"), row.astype(np.float32)
        place = space + 1 + size
