"""Checkpoints of a training: folders that are written aside and renamed, with a checksum of each
file. The last two are kept."""

import json
import shutil
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .errors import Errors, Warnings
from .files import remove_unfinished, replacing_folder

CHECKSUMS = "checksums.json"
KEPT = 2
CHUNK = 1 << 20  # bytes

T = TypeVar("T")


def write_checkpoint(folder: Path, step: int, write: Callable[[Path], object]) -> None:
    """Keep what `write` puts into an empty folder as that of a step; remove those before the last
    two, and what a killed training had begun to write."""
    remove_unfinished(folder)
    with replacing_folder(folder / f"{step:09}") as temporary:
        temporary.mkdir()
        write(temporary)
        checksums = {
            path.relative_to(temporary).as_posix(): _checksum(path) for path in _files(temporary)
        }
        (temporary / CHECKSUMS).write_text(json.dumps(checksums, indent=1), "utf-8")
    for path in _checkpoints(folder)[KEPT:]:
        shutil.rmtree(path)


def read_checkpoint(folder: Path, read: Callable[[Path], T]) -> T | None:
    """What `read` makes of the last that is whole, or None where there is none at all.

    Warns (W380) of each that is damaged. Raises ValueError (F384) where all are.
    """
    paths = _checkpoints(folder)
    for path in paths:
        try:
            _check(path)
        except (OSError, ValueError) as error:
            warnings.warn(Warnings.W380.format(path=path, reason=error), stacklevel=2)
        else:
            return read(path)
    if paths:
        raise ValueError(Errors.F384.format(path=folder))
    return None


def has_checkpoint(folder: Path) -> bool:
    """Whether there is one, damaged or not."""
    return bool(_checkpoints(folder))


def _checkpoints(folder: Path) -> list[Path]:
    """The last first."""
    return sorted(folder.glob("[0-9]*"), reverse=True)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _check(path: Path) -> None:
    """Raises ValueError or OSError where a file is not what was written."""
    checksums = json.loads((path / CHECKSUMS).read_text("utf-8"))
    for name, checksum in checksums.items():
        if _checksum(path / name) != checksum:
            raise ValueError(f"{name}: its checksum differs")


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            checksum = zlib.crc32(chunk, checksum)
    return checksum
