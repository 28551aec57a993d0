"""Reading text files line by line, and writing files wholly or not at all."""

import gzip
import lzma
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import Errors

ByteStream = BinaryIO | gzip.GzipFile | lzma.LZMAFile

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


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


def read_text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text without its line end) of each line of a UTF-8 file.

    A byte order mark is dropped on any line, since files that were joined have some within.

    Raises ValueError (F004) at the first byte that is not UTF-8; otherwise as `read_lines`.
    """
    for number, raw in read_lines(path):
        yield number, decode(raw, path, number).rstrip("\r\n").lstrip("\ufeff")


@contextmanager
def reading(path: Path, done: Callable[[], int]) -> Iterator[None]:
    """Check that a file is there, and name it and what was `done` of it where reading fails.

    Errors as in `read_lines`.
    """
    require_exists(path)
    if path.is_dir():
        raise IsADirectoryError(Errors.F002.format(path=path))
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(Errors.F003.format(path=path, line=done() + 1, reason=error)) from error


def require_exists(*paths: Path) -> None:
    """Raises FileNotFoundError (F001) for the first that is not there."""
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(Errors.F001.format(path=path))


def decode(raw: bytes, path: Path, line: int) -> str:
    """UTF-8 to text, or ValueError (F004) that names file and line."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = Errors.F004.format(
            path=path,
            line=line,
            byte=f"0x{raw[error.start]:02x}",
            offset=error.start,
            encoding="UTF-16" if raw.startswith(UTF_16_MARKS) else "GB18030",
        )
        raise ValueError(message) from error


def open_file(path: Path) -> ByteStream:
    """Open a plain, .gz or .xz file for reading bytes."""
    if path.suffix == ".gz":
        return gzip.open(path)
    if path.suffix == ".xz":
        return lzma.open(path)
    return path.open("rb")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which becomes `path` where nothing is raised.

    So `path` is always the old file or the whole new one, also where several write it at once. Its
    folder is made where it is missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A folder, since a temporary file would be readable by its owner only, and so would `path`.
    with tempfile.TemporaryDirectory(dir=path.parent, suffix=".tmp") as folder:
        temporary = Path(folder) / path.name
        yield temporary
        os.replace(temporary, path)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """As `replacing`, of a folder to be made: one that was there before is deleted in the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, suffix=".tmp") as folder:
        temporary = Path(folder) / path.name
        yield temporary
        if path.exists():
            os.replace(path, Path(folder) / "before")
        os.replace(temporary, path)


def remove_unfinished(folder: Path) -> None:
    """Remove what processes that were killed had begun to write by `replacing` and
    `replacing_folder`. Nobody else may be writing to the folder."""
    for unfinished in folder.glob("tmp*.tmp"):
        shutil.rmtree(unfinished, ignore_errors=True)
