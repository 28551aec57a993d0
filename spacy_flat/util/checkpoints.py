"""Checkpoints of a training: folders that are written aside and renamed, with a checksum of each
file. The last two that are whole are kept."""

import json
import os
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

from ..errors import Errors, Warnings
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
    written = folder / f"{step:09}"
    with replacing_folder(written) as temporary:
        temporary.mkdir()
        write(temporary)
        checksums = {
            path.relative_to(temporary).as_posix(): checksum(path) for path in _files(temporary)
        }
        (temporary / CHECKSUMS).write_text(json.dumps(checksums, indent=1), "utf-8")
    kept = 1
    for path in _checkpoints(folder):
        if path == written:
            continue
        fault = _fault(path) if kept < KEPT else None
        # Other errors may pass, as those of a network drive do.
        if kept == KEPT or isinstance(fault, ValueError | FileNotFoundError):
            shutil.rmtree(path)
        elif fault is None:
            kept += 1


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Write a safetensors file.

    Raises OSError where it can't be written, as other files do. safetensors raises an error of its
    own, which only its message tells from others.
    """
    try:
        save_file(tensors, path)
    except SafetensorError as error:
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise
        number, text = int(found[1]), str(error)
        # On Windows the number is its own, from which Python makes an errno.
        arguments = (0, text, None, number) if os.name == "nt" else (number, text)
        raise OSError(*arguments) from error


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


def _fault(path: Path) -> OSError | ValueError | None:
    """Why a checkpoint is not what was written; None where it is."""
    try:
        checksums = json.loads((path / CHECKSUMS).read_text("utf-8"))
        for name, expected in checksums.items():
            if checksum(path / name) != expected:
                return ValueError(f"{name}: its checksum differs")
    except (OSError, ValueError) as error:
        return error
    return None


def checksum(path: Path) -> int:
    """Of a file's content, or of the names and contents of a folder's files."""
    value = 0
    for file in _files(path) if path.is_dir() else [path]:
        if file != path:
            value = zlib.crc32(os.fsencode(file.relative_to(path).as_posix()), value)
        with file.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                value = zlib.crc32(chunk, value)
    return value
