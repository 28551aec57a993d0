"""Checkpoints of a training: folders with checksums of their content."""

import json
import shutil
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import Errors, Warnings
from ..util.files import remove_unfinished, replacing

CHECKSUMS = "checksums.json"
KEPT = 2

T = TypeVar("T")


def write_checkpoint(folder: Path, step: int, write: Callable[[Path], object]) -> None:
    """Write the checkpoint of a step, by `write` into an empty folder. Keeps the last one before,
    and removes unfinished ones and others: later ones were damaged, since this step is new."""
    remove_unfinished(folder)
    written = folder / f"{step:09}"
    with replacing(written) as temporary:
        temporary.mkdir()
        write(temporary)
        checksums = {path.name: checksum(path) for path in temporary.iterdir()}
        (temporary / CHECKSUMS).write_text(json.dumps(checksums), "utf-8")
    paths = _checkpoints(folder)
    kept = [path for path in paths if path <= written][:KEPT]
    for path in paths:
        if path not in kept:
            shutil.rmtree(path)


def read_checkpoint(folder: Path, read: Callable[[Path], T]) -> T | None:
    """The result of `read` for the last intact checkpoint, or None without any.

    A damaged checkpoint triggers a warning (W380). Raises ValueError (F384) if all are damaged.
    """
    paths = _checkpoints(folder)
    for path in paths:
        try:
            _require_intact(path)
        except (OSError, ValueError) as error:
            warnings.warn(Warnings.W380.format(path=path, reason=error), stacklevel=2)
        else:
            return read(path)
    if paths:
        raise ValueError(Errors.F384.format(path=folder))
    return None


def has_checkpoint(folder: Path) -> bool:
    """Whether there is a checkpoint, damaged or not."""
    return bool(_checkpoints(folder))


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*"), reverse=True)


def _require_intact(checkpoint: Path) -> None:
    for name, expected in json.loads((checkpoint / CHECKSUMS).read_text("utf-8")).items():
        if checksum(checkpoint / name) != expected:
            raise ValueError(f"{name}: its checksum differs")


def checksum(path: Path) -> int:
    """The CRC-32 of a file, or of the names and contents of a folder's files."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        contents = [(file.relative_to(path).as_posix(), checksum(file)) for file in files]
        return zlib.crc32(repr(contents).encode())
    return zlib.crc32(path.read_bytes())
