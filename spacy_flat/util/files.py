"""Reading text files line by line, and writing files wholly or not at all."""

import errno
import gzip
import lzma
import os
import platform
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import Errors

ByteStream = BinaryIO | gzip.GzipFile | lzma.LZMAFile

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
UNFINISHED = "tmp*.tmp"  # names of folders in which something is written
NEW, OLD = "new", "old"  # folders within, of a folder that is replaced
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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

    So `path` is always the old file or the whole new one, also where several write it at once, and
    after a power cut. Its folder is made where it is missing.

    Raises OSError (F042) for a full disk.
    """
    with _unfinished(path) as folder:
        temporary = folder / path.name
        yield temporary
        move(temporary, path)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """As `replacing`, of a folder to be made.

    No system replaces one folder by another in a single step. So the old one is moved aside. If a
    kill leaves its place empty, the next `replacing_folder` or `remove_unfinished` puts it back.
    """
    for unfinished in path.parent.glob(UNFINISHED):
        _put_back(unfinished, path.name)
    with _unfinished(path) as folder:
        new, old = folder / NEW / path.name, folder / OLD / path.name
        new.parent.mkdir()
        old.parent.mkdir()
        yield new
        _sync_all(new)  # which takes long: `path` must not be missing meanwhile
        try:
            if path.exists():
                os.replace(path, old)
            _rename(new, path)
        finally:
            _put_back(folder)


@contextmanager
def _unfinished(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`: a temporary file would be readable by its owner only, and
    so would `path`. Errors as in `replacing`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, suffix=".tmp") as folder:
            yield Path(folder)
    except OSError as error:
        if error.errno is None or error.errno not in DISK_FULL:
            raise
        full = OSError(Errors.F042.format(path=path, reason=os.strerror(error.errno)))
        full.errno = error.errno  # where one path is written within another, the outer is named
        raise full from error


def _put_back(unfinished: Path, name: str | None = None) -> None:
    """Move an old folder, of one name or any, back where the new one did not take its place."""
    for old in (unfinished / OLD).glob("*"):
        if name not in (None, old.name):
            continue
        if not (path := unfinished.parent / old.name).exists():
            os.replace(old, path)


def move(temporary: Path, path: Path) -> None:
    """Rename a file or folder. It is on the disk before, and its new name after that."""
    _sync_all(temporary)
    _rename(temporary, path)


def _sync_all(path: Path) -> None:
    for each in (*path.rglob("*"), path):
        _sync(each)


def _rename(temporary: Path, path: Path) -> None:
    os.replace(temporary, path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    is_folder = path.is_dir()
    with suppress(OSError) if is_folder else nullcontext():  # not every system syncs folders
        # Windows syncs what can be written to; elsewhere a file may be read-only.
        number = os.open(path, os.O_RDWR if os.name == "nt" and not is_folder else os.O_RDONLY)
        try:
            os.fsync(number)
            if sys.platform == "darwin":  # there fsync leaves data in the drive's cache
                import fcntl

                with suppress(OSError):  # not every file system can
                    fcntl.fcntl(number, fcntl.F_FULLFSYNC)
        finally:
            os.close(number)


def remove_unfinished(folder: Path) -> None:
    """Remove what processes that were killed had begun to write by `replacing` and
    `replacing_folder`. Nobody else may be writing to the folder."""
    for unfinished in folder.glob(UNFINISHED):
        _put_back(unfinished)
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to a folder. It is made where it is missing.

    The system releases the lock of a process that dies.

    Raises BlockingIOError (F043) where another process has the lock.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock, owner = FileLock(folder / ".lock"), folder / ".lock-owner"
    try:
        lock.acquire(blocking=False)
    except Timeout:
        name = "another process"
        with suppress(OSError):
            name = owner.read_text("utf-8")
        raise BlockingIOError(Errors.F043.format(path=folder, process=name)) from None
    try:
        with suppress(OSError):  # a full disk: the lock holds all the same
            owner.write_text(f"process {os.getpid()} on {platform.node()}", "utf-8")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()
