"""Checkpoints of a training: folders that are written aside and renamed, with a checksum of each
file. The last two that are whole are kept."""

import errno
import json
import re
import shutil
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from .errors import Errors, Warnings
from .files import remove_unfinished, replacing_folder

CHECKSUMS = "checksums.json"
KEPT = 2
CHUNK = 1 << 20  # bytes

T = TypeVar("T")


def write_checkpoint(folder: Path, step: int, write: Callable[[Path], object]) -> None:
    """Keep what `write` puts into an empty folder as that of a step, and the last whole one before;
    remove the others, and what a killed training had begun to write.

    Raises OSError (F042) for a full disk.
    """
    remove_unfinished(folder)
    with replacing_folder(folder / f"{step:09}") as temporary:
        temporary.mkdir()
        write(temporary)
        checksums = {
            path.relative_to(temporary).as_posix(): _checksum(path) for path in _files(temporary)
        }
        (temporary / CHECKSUMS).write_text(json.dumps(checksums, indent=1), "utf-8")
    kept = 0
    for path in _checkpoints(folder):
        if kept < KEPT and _fault(path) is None:
            kept += 1
        else:
            shutil.rmtree(path)


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Write a safetensors file.

    Raises OSError where it can't be written, as other files do. safetensors raises an error of its
    own, which only its message tells from others.
    """
    try:
        save_file(tensors, path)
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        raise OSError(int(number[1]) if number else errno.EIO, str(error)) from error


def read_checkpoint(folder: Path, read: Callable[[Path], T]) -> T | None:
    """What `read` makes of the last that is whole, or None where there is none at all.

    Warns (W380) of each that is damaged. Raises ValueError (F384) where all are.
    """
    paths = _checkpoints(folder)
    for path in paths:
        fault = _fault(path)
        if fault is None:
            return read(path)
        warnings.warn(Warnings.W380.format(path=path, reason=fault), stacklevel=2)
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


def _fault(path: Path) -> object:
    """Why a checkpoint is not what was written; None where it is."""
    try:
        checksums = json.loads((path / CHECKSUMS).read_text("utf-8"))
        for name, checksum in checksums.items():
            if _checksum(path / name) != checksum:
                return f"{name}: its checksum differs"
    except (OSError, ValueError) as error:
        return error
    return None


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            checksum = zlib.crc32(chunk, checksum)
    return checksum
