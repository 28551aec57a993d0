"""Reading text files line by line, and writing files wholly or not at all."""

import gzip
import io
import lzma
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from ..errors import Errors

ByteStream = BinaryIO | gzip.GzipFile | lzma.LZMAFile

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_8 = "utf-8"
SAMPLE = 1 << 16  # bytes that show the encoding, one of those
LIKELY = ("gb18030", "utf_16", "big5", "utf_16_le", "utf_16_be", "shift_jis", "cp1252")
BOMS_16 = (b"\xff\xfe", b"\xfe\xff")
_encoding: ContextVar[str] = ContextVar("spacy_flat_encoding", default=UTF_8)


@contextmanager
def encoded_in(encoding: str) -> Iterator[None]:
    """Let text files have this encoding within. Raises ValueError (F118) for an unknown one."""
    try:
        "".encode(encoding)
    except LookupError:
        names = "utf-8, gb18030, big5, utf-16, … (Python's names)"
        words = {"what": "encoding", "name": encoding, "names": names}
        raise ValueError(Errors.F118.format(**words)) from None
    token = _encoding.set(encoding)
    try:
        yield
    finally:
        _encoding.reset(token)


def recoded(stream: Any, encoding: str, path: Path) -> Iterator[bytes]:
    """The lines of a stream in UTF-8, which is not checked. Raises ValueError (F004)."""
    if encoding.lower() == UTF_8:
        yield from stream
        return
    number = 1  # of the line to read
    try:
        for line in io.TextIOWrapper(stream, encoding, newline="\n"):
            yield line.encode()
            number += 1
    except UnicodeDecodeError as error:
        raise _not_in(encoding, error, path, number) from error


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, raw line), as `split_lines`, without a byte order mark.

    Raises FileNotFoundError (F001), IsADirectoryError (F002), and ValueError for a file that can't
    be read or unpacked to its end (F003), or not decoded within `encoded_in` (F004).
    """
    number = 0
    require_exists(path)
    if path.is_dir():
        raise IsADirectoryError(Errors.F002.format(path=path))
    try:
        with open_file(path) as stream:
            for number, line in split_lines(recoded(stream, _encoding.get(), path)):
                yield number, line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(Errors.F003.format(path=path, line=number + 1, reason=error)) from error


def split_lines(stream: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line without its end) of lines that end with LF, CR LF or CR, one of
    the first two kinds in memory at a time. Other line breaks may be in words."""
    return enumerate((line for raw in stream for line in raw.splitlines()), 1)


def read_text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text without its line end) of each line of a file in UTF-8, or as
    `encoded_in` says. Drops byte order marks, also within concatenated files.

    Raises ValueError (F004) for other encodings; otherwise as `read_lines`.
    """
    for number, raw in read_lines(path):
        yield number, decode(raw, path, number).lstrip("\ufeff")


def read_text(path: Path) -> str:
    """All of a text file, with its line ends. Raises as `require_exists` and `decode`."""
    require_exists(path)
    with open_file(path) as stream:
        raw = b"".join(recoded(stream, _encoding.get(), path))
    return decode(raw.removeprefix(BYTE_ORDER_MARK), path, 1)


def require_exists(*paths: Path) -> None:
    """Raises FileNotFoundError (F001) for the first missing path."""
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(Errors.F001.format(path=path))


def decode(raw: bytes, path: Path, line: int) -> str:
    """Decode UTF-8. Raises ValueError (F004) with file and line."""
    try:
        return raw.decode(UTF_8)
    except UnicodeDecodeError as error:
        raise _not_in(UTF_8, error, path, line) from error


def _not_in(encoding: str, error: UnicodeDecodeError, path: Path, line: int) -> ValueError:
    """The error (F004) of bytes from a line on, with the encoding that the file may have."""
    from charset_normalizer import from_bytes  # comes with spaCy

    data, before = error.object, error.object[: error.start].split(b"\n")
    if path.is_file():
        with open_file(path) as stream:
            data = stream.read(SAMPLE)
    whole = data[: data.rfind(b"\n") + 1] or data
    found = None if data[:2] in BOMS_16 else from_bytes(whole, cp_isolation=[*LIKELY]).best()
    guess = found.encoding if found else LIKELY[data[:2] in BOMS_16]
    where = {"path": path, "line": line + len(before) - 1, "offset": len(before[-1])}
    words = {"encoding": encoding, "guess": guess, "byte": f"0x{error.object[error.start]:02x}"}
    return ValueError(Errors.F004.format(**where, **words))


def suffix_of(path: Path) -> str:
    """The suffix of a file's name without that of its compression, in lower case."""
    return (path.with_suffix("") if path.suffix in (".gz", ".xz") else path).suffix.lower()


def open_file(path: Path) -> ByteStream:
    if path.suffix == ".gz":
        return gzip.open(path)
    if path.suffix == ".xz":
        return lzma.open(path)
    return path.open("rb")


def with_checksum(magic: bytes, data: bytes) -> bytes:
    """The data after the mark of its format and a CRC-32."""
    return magic + zlib.crc32(data).to_bytes(4, "little") + data


def without_checksum(magic: bytes, content: bytes) -> bytes:
    """The inverse of `with_checksum`. Raises ValueError for another mark or checksum."""
    start = len(magic) + 4
    if not content.startswith(magic):
        raise ValueError("it is of another format or version")
    data = content[start:]
    if zlib.crc32(data).to_bytes(4, "little") != content[len(magic) : start]:
        raise ValueError("its checksum differs")
    return data


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path for a file or a folder, which becomes `path` unless something is raised.

    So `path` is always the old or the complete new one, even if several write at once. Makes
    missing folders. Raises NotADirectoryError (F138) if a folder of the path is a file.
    """
    for parent in path.parents:
        if parent.exists() and not parent.is_dir():
            raise NotADirectoryError(Errors.F138.format(path=parent))
    path.parent.mkdir(parents=True, exist_ok=True)
    # In a folder that only its owner can read.
    with TemporaryDirectory(dir=path.parent, suffix=".tmp") as folder:
        new, old = Path(folder) / "new" / path.name, Path(folder) / "old"
        new.parent.mkdir()
        yield new  # a package's name counts
        if new.is_dir() and path.is_dir():  # no system replaces a folder in one step
            os.replace(path, old)
        os.replace(new, path)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left of `replacing`. Nobody may be writing to the folder."""
    for unfinished in folder.glob("tmp*.tmp"):
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for writing, and make it if it's missing. The system releases the lock of a
    process that dies.

    Raises BlockingIOError (F043) if another process has the lock.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(folder / ".lock").acquire(blocking=False)
    except Timeout:
        raise BlockingIOError(Errors.F043.format(path=folder)) from None
    with held:
        yield
