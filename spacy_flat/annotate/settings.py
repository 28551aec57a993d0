"""The settings of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import Errors

SHARD_CHARACTERS = 10_000_000  # a shard with as many ends, whatever its number of rows


@dataclass(frozen=True)
class Settings:
    """What every process of a run needs to know.

    pipeline: name of a package, or absolute path of a folder.
    code: Python files with registered functions.
    text, id: keys or columns of the input.
    attributes: "NAME" or "NAME:TYPE" of the `doc._` attributes to write.
    shard_rows: most rows of an output file.
    batch_size: in characters.
    gpu: run spaCy on a GPU.
    device: of the pipeline's networks; "" for their config's.
    """

    pipeline: str
    code: tuple[str, ...] = ()
    text: str = "text"
    id: str = "id"
    attributes: tuple[str, ...] = ()
    shard_rows: int = 2000
    batch_size: int = 50_000
    gpu: bool = False
    device: str = ""

    def identity(self) -> dict[str, object]:
        """What the output depends on. Raises ValueError (F467) if the pipeline isn't found."""
        return {
            "pipeline": digest(files_within(find_pipeline(self.pipeline))),
            "code": digest(map(Path, self.code)),
            "text": self.text,
            "id": self.id,
            "attributes": list(self.attributes),
            "shard_rows": self.shard_rows,
            "shard_characters": SHARD_CHARACTERS,
        }


def find_pipeline(name: str) -> Path:
    """The folder of a pipeline. Raises ValueError (F467) unless it is a package or a folder."""
    from spacy.util import get_package_path, is_package

    if is_package(name):
        return Path(get_package_path(name))
    if not Path(name).is_dir():
        raise ValueError(Errors.F467.format(name=name))
    return Path(name)


def files_within(folder: Path) -> list[Path]:
    """The sorted files of a pipeline, without Python's caches."""
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 of names and contents."""
    content = hashlib.sha256()
    for path in paths:
        content.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()
