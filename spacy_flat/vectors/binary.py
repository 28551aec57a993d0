"""word2vec's binary form: a header line, then each word, a space, and its numbers."""

from collections.abc import Container, Iterator
from pathlib import Path

import numpy as np

from ..errors import Errors
from ..util.arrays import Float32s
from ..util.files import ByteStream, open_file, reading
from .table import Keep, TextVectors

PIECE = 1 << 20  # bytes read at once
LONGEST_WORD = 10_000  # bytes; a file with longer words isn't one of vectors


def read_binary(path: Path, *, skip_bad: bool = False, keep: Keep | None = None) -> TextVectors:
    """Read the binary form, with little-endian float32 numbers.

    keep: take only the keys for which this is true; memory grows with them, not with the file.

    Raises ValueError for a missing header (F015), a truncated file (F014), a bad or repeated word
    or a number that isn't finite (F017), and without any good vector (F010). `skip_bad` omits such
    vectors and lists them in `TextVectors.skipped`.
    """
    keys: dict[str, None] = {}
    rows: list[Float32s] = []
    skipped: list[int] = []
    number, good = 0, 0
    with reading(path, lambda: number), open_file(path) as stream:
        count, width = _header(stream, path)
        records = _records(stream, width)
        for number in range(1, count + 1):
            record = next(records, None)
            if record is None:
                if not skip_bad:
                    words = {"expected": count, "found": number - 1}
                    raise ValueError(Errors.F014.format(path=path, **words))
                skipped.append(number)
                break
            key, row = record
            if fault := _fault(key, row, keys):
                if not skip_bad:
                    raise ValueError(Errors.F017.format(path=path, number=number, fault=fault))
                skipped.append(number)
                continue
            good += 1
            if keep is None or keep(key.decode()):
                keys[key.decode()] = None
                rows.append(row)
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


def _fault(key: bytes, row: Float32s, known: Container[str]) -> str:
    """Why a vector is bad; "" if it's good."""
    try:
        word = key.decode()
    except UnicodeDecodeError:
        return f"its word {key[:40]!r} is not UTF-8"
    if not word:
        return "it has no word"
    if not np.isfinite(row).all():
        return f"a number of {word!r} is not finite"
    return f"it is the second vector of {word!r}" if word in known else ""
