"""Checkpoints of a training: safetensors for what is large, JSON for the rest; no pickle.

A checkpoint is STEP.safetensors and STEP.json, which is written last and has the other's checksum.
Each is written aside and renamed. The last two are kept.
"""

import json
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ..errors import Errors, Warnings
from ..files import replacing

KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    """tensors: by name; state: plain data."""

    tensors: Mapping[str, Tensor]
    state: Mapping[str, Any]


def write_checkpoint(folder: Path, step: int, checkpoint: Checkpoint) -> None:
    """Write that of a step, and remove those before the last two."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in checkpoint.tensors.items()}
    data = save(tensors)
    state = {**checkpoint.state, "checksum": zlib.crc32(data)}
    with replacing(folder / f"{step:09}.safetensors") as temporary:
        temporary.write_bytes(data)
    with replacing(folder / f"{step:09}.json") as temporary:
        temporary.write_text(json.dumps(state, ensure_ascii=False, indent=1), "utf-8")
    for path in sorted(folder.glob("*.json"))[:-KEPT]:
        path.unlink()
        path.with_suffix(".safetensors").unlink(missing_ok=True)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The last that is whole, or None where there is none at all.

    Warns (W380) of each that is damaged. Raises ValueError (F384) where all are.
    """
    paths = sorted(folder.glob("*.json"), reverse=True)
    for path in paths:
        try:
            return _read(path)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            warnings.warn(Warnings.W380.format(path=path, reason=error), stacklevel=2)
    if paths:
        raise ValueError(Errors.F384.format(path=folder))
    return None


def _read(path: Path) -> Checkpoint:
    state = json.loads(path.read_text("utf-8"))
    data = path.with_suffix(".safetensors").read_bytes()
    if zlib.crc32(data) != state.pop("checksum"):
        raise ValueError("its checksum differs")
    return Checkpoint(load(data), state)
