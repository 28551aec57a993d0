"""What a run is asked for, and how a later run knows that it is asked for the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import Errors

Format = Literal["parquet", "spacy"]


@dataclass(frozen=True)
class Settings:
    """What an actor needs to know.

    pipeline: name of a package, or path of a folder, absolute since actors have another place.
    code: Python files with registered functions of the pipeline.
    text, id: keys or columns of the input.
    attributes: "NAME" or "NAME:TYPE" of the `doc._` attributes to write.
    format: of what is written.
    batch_size: characters that are annotated at once.
    gpu: whether spaCy is to compute on a GPU.
    device: what the pipeline's networks are to compute on; "" for what its config says.
    """

    pipeline: str
    code: tuple[str, ...] = ()
    text: str = "text"
    id: str = "id"
    attributes: tuple[str, ...] = ()
    format: Format = "parquet"
    batch_size: int = 50_000
    gpu: bool = False
    device: str = ""

    def identity(self) -> dict[str, object]:
        """What the content of the output depends on.

        Raises ValueError (F467) where the pipeline is not found.
        """
        return {
            "pipeline": digest(files_within(find_pipeline(self.pipeline))),
            "code": digest(map(Path, self.code)),
            "text": self.text,
            "id": self.id,
            "attributes": list(self.attributes),
            "format": self.format,
        }


def find_pipeline(name: str) -> Path:
    """The folder of a pipeline: that of an installed package, or the path of a folder.

    Raises ValueError (F467) where there is neither.
    """
    from spacy.util import get_package_path, is_package

    if is_package(name):
        return Path(get_package_path(name))
    if not Path(name).is_dir():
        raise ValueError(Errors.F467.format(name=name))
    return Path(name)


def files_within(folder: Path) -> list[Path]:
    """The files of a pipeline, in order. What Python caches beside a package is left out."""
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 of the names and contents of files."""
    content = hashlib.sha256()
    for path in paths:
        content.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()
