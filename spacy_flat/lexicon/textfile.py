"""Lines of a plain, .gz or .xz text file, with their numbers."""

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import Errors

ByteStream = BinaryIO | gzip.GzipFile | lzma.LZMAFile

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, raw line with its newline) of a file, one line in memory at a time.

    Lines stay bytes, cut at "\\n" only: words may hold other characters that `str` takes for line
    breaks, and a line in a wrong encoding can be named by its number. A byte order mark is dropped.

    Raises FileNotFoundError (F001), IsADirectoryError (F002), and ValueError (F003) for a file that
    cannot be read or unpacked to its end.
    """
    number = 0
    with reading(path, lambda: number), open_file(path) as stream:
        for number, line in enumerate(stream, 1):
            yield number, line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line


@contextmanager
def reading(path: Path, done: Callable[[], int]) -> Iterator[None]:
    """Check that a file is there, and name it and what was `done` of it where reading fails.

    Errors as in `read_lines`.
    """
    if not path.exists():
        raise FileNotFoundError(Errors.F001.format(path=path))
    if path.is_dir():
        raise IsADirectoryError(Errors.F002.format(path=path))
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(Errors.F003.format(path=path, line=done() + 1, reason=error)) from error


def decode(raw: bytes, path: Path, line: int) -> str:
    """UTF-8 to text, or ValueError (F004) that names file and line."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = Errors.F004.format(
            path=path, line=line, byte=f"0x{raw[error.start]:02x}", offset=error.start
        )
        raise ValueError(message) from error


def open_file(path: Path) -> ByteStream:
    """Open a plain, .gz or .xz file for reading bytes."""
    if path.suffix == ".gz":
        return gzip.open(path)
    if path.suffix == ".xz":
        return lzma.open(path)
    return path.open("rb")
