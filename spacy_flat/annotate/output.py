"""The output: a folder with a Parquet file for each shard and the identity of the run, and how Docs
become rows."""

from __future__ import annotations

import json
import os
import posixpath
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import NativeFile
from pyarrow.fs import FileSelector, FileType, LocalFileSystem

from ..corpora.docs import entities_of
from ..errors import Errors
from ..util.files import locked
from ..util.messages import shortened
from .sources import open_address

if TYPE_CHECKING:
    from spacy.tokens import Doc

MANIFEST, ROWS = "manifest.json", "rows"
ENTITY = pa.struct(
    {
        "start": pa.int32(),
        "end": pa.int32(),
        "label": pa.string(),
        "text": pa.string(),
        "confidence": pa.float64(),
    }
)


class Folder:
    """An output folder on any filesystem. Its files are complete or missing."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.fs, self.path = open_address(address)
        self.is_local = isinstance(self.fs, LocalFileSystem)

    def locked(self) -> AbstractContextManager[None]:
        """As `files.locked`. Remote folders can't be locked."""
        return locked(Path(self.path)) if self.is_local else nullcontext()

    def names(self, within: str = "") -> list[str]:
        """The names in the folder or a subfolder; none if it is missing."""
        selector = FileSelector(posixpath.join(self.path, within), allow_not_found=True)
        return [info.base_name for info in self.fs.get_file_info(selector)]

    def finished(self) -> frozenset[str]:
        """The names of finished shards. Deletes the unfinished files of killed processes."""
        names = self.names(ROWS)
        for name in names:
            if name.startswith("."):
                self.fs.delete_file(posixpath.join(self.path, ROWS, name))
        return frozenset(name.removesuffix(".parquet") for name in names if name[0] != ".")

    def check(self, identity: dict[str, Any]) -> None:
        """Compare what the output depends on with that of an earlier run, or write it.

        Raises ValueError for a folder with other files (F395), or if anything has changed (F447).
        """
        names = [name for name in self.names() if not name.startswith(".")]
        if names and MANIFEST not in names:
            listed = ", ".join(sorted(names)[:3])
            raise ValueError(Errors.F395.format(path=self.address, names=listed))
        if self.names(ROWS):
            with self.fs.open_input_file(posixpath.join(self.path, MANIFEST)) as file:
                before = json.loads(file.read())
            merged = identity | before  # with the files of either
            if changed := [name for name in merged if before.get(name) != identity.get(name)]:
                words = {"path": self.address, "names": shortened(changed)}
                raise ValueError(Errors.F447.format(**words))
        self.fs.create_dir(posixpath.join(self.path, ROWS), recursive=True)
        with self.replacing(MANIFEST) as file:
            file.write(json.dumps(identity, ensure_ascii=False).encode())

    @contextmanager
    def replacing(self, name: str) -> Iterator[NativeFile]:
        """A file to write to, renamed to its name unless something is raised. The temporary name
        starts with a dot and is unique: Ray may write a shard twice at once."""
        folder, base = posixpath.split(posixpath.join(self.path, name))
        temporary = posixpath.join(folder, f".{base}.{uuid.uuid4().hex}")
        try:
            with self.fs.open_output_stream(temporary) as file:
                yield file
            # pyarrow's own `move` doesn't replace files everywhere.
            move = os.replace if self.is_local else self.fs.move
            move(temporary, posixpath.join(folder, base))
        except BaseException:
            if self.fs.get_file_info(temporary).type != FileType.NotFound:
                self.fs.delete_file(temporary)
            raise


def schema_of(attributes: Sequence[str]) -> pa.Schema:
    columns = {"id": pa.string(), "text": pa.string(), "entities": pa.list_(ENTITY)}
    columns["cats"] = pa.map_(pa.string(), pa.float64())
    return pa.schema({**columns, **dict.fromkeys((*attributes, "error"), pa.string())})


def record_of(id: str, doc: Doc, attributes: Sequence[str], schema: pa.Schema) -> dict[str, Any]:
    """The row of a Doc, with character offsets. Raises errors of JSON and pyarrow for values that
    can't be written."""
    record: dict[str, Any] = {
        "id": id,
        "text": doc.text,
        "entities": entities_of(doc),
        "cats": list(doc.cats.items()),
    }
    record |= {attribute: as_text(doc._.get(attribute)) for attribute in attributes}
    pa.array([record], pa.struct(list(schema)))  # raises the errors of this row
    return record


def as_text(value: object) -> str | None:
    """The value of an attribute; JSON for other values than strings."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=lambda each: each.tolist())
