"""Checkpoints of a training: folders with a checksum of each file."""

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
from ..util.files import remove_unfinished, replacing_folder

CHECKSUMS = "checksums.json"
KEPT = 2
CHUNK = 1 << 20  # bytes

T = TypeVar("T")


def write_checkpoint(folder: Path, step: int, write: Callable[[Path], object]) -> None:
    """Write the checkpoint of a step, by `write` into an empty folder. Keeps the last intact one
    before, and removes others and unfinished ones.

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
        # Other errors, such as those of a network drive, may be temporary.
        if kept == KEPT or isinstance(fault, ValueError | FileNotFoundError):
            shutil.rmtree(path)
        elif fault is None:
            kept += 1


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Write a safetensors file. Raises OSError, where safetensors raises another error."""
    try:
        save_file(tensors, path)
    except SafetensorError as error:
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise
        number, text = int(found[1]), str(error)
        # On Windows Python makes an errno of the system's number.
        arguments = (0, text, None, number) if os.name == "nt" else (number, text)
        raise OSError(*arguments) from error


def read_checkpoint(folder: Path, read: Callable[[Path], T]) -> T | None:
    """The result of `read` for the last intact checkpoint, or None without any.

    A damaged checkpoint triggers a warning (W380). Raises ValueError (F384) if all are damaged.
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
    """Whether there is a checkpoint, damaged or not."""
    return bool(_checkpoints(folder))


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*"), reverse=True)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _fault(path: Path) -> OSError | ValueError | None:
    """Why a checkpoint is damaged, if it is."""
    try:
        checksums = json.loads((path / CHECKSUMS).read_text("utf-8"))
        for name, expected in checksums.items():
            if checksum(path / name) != expected:
                return ValueError(f"{name}: its checksum differs")
    except (OSError, ValueError) as error:
        return error
    return None


def checksum(path: Path) -> int:
    """The CRC-32 of a file, or of the names and contents of a folder's files."""
    value = 0
    for file in _files(path) if path.is_dir() else [path]:
        if file != path:
            value = zlib.crc32(os.fsencode(file.relative_to(path).as_posix()), value)
        with file.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                value = zlib.crc32(chunk, value)
    return value
