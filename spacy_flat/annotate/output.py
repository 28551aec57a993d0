"""The output folder: a Parquet file per shard, and the settings of the run."""

from __future__ import annotations

import json
import os
import posixpath
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import NativeFile
from pyarrow.fs import FileSelector, FileType, LocalFileSystem

from ..errors import Errors
from ..util.files import locked
from .sources import open_address

if TYPE_CHECKING:
    from spacy.tokens import Doc

MANIFEST, ROWS, ATTEMPTS = "manifest.json", "rows", "attempts"
TYPES = {"text": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
ENTITY = pa.struct(
    [
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("label", pa.string()),
        ("text", pa.string()),
        ("confidence", pa.float64()),
    ]
)


class Folder:
    """An output folder on any filesystem. Its files are complete or missing."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.fs, self.path = open_address(address)

    @property
    def absolute(self) -> str:
        """The address for other processes."""
        return self.address if "://" in self.address else self.path

    def names(self, within: str = "") -> list[str]:
        """The names in the folder or a subfolder; none if it is missing."""
        selector = FileSelector(posixpath.join(self.path, within), allow_not_found=True)
        return sorted(info.base_name for info in self.fs.get_file_info(selector))

    def prepare(self) -> set[str]:
        """Make the subfolders, without unfinished files of killed processes. Returns the names of
        finished shards."""
        for within in (ROWS, ATTEMPTS):
            self.fs.create_dir(posixpath.join(self.path, within), recursive=True)
            for name in self.names(within):
                if name.startswith(".") or within == ATTEMPTS:
                    self.delete(posixpath.join(within, name))
        return {name.removesuffix(".parquet") for name in self.names(ROWS)}

    def delete(self, name: str) -> None:
        self.fs.delete_file(posixpath.join(self.path, name))

    def read(self, name: str) -> bytes:
        with self.fs.open_input_file(posixpath.join(self.path, name)) as file:
            return bytes(file.read())

    def locked(self) -> AbstractContextManager[None]:
        """As `files.locked`. Remote folders can't be locked."""
        is_local = isinstance(self.fs, LocalFileSystem)
        return locked(Path(self.path)) if is_local else nullcontext()

    @contextmanager
    def replacing(self, name: str) -> Iterator[NativeFile]:
        """A file to write to, renamed to its name unless something is raised. The temporary name
        starts with a dot and is unique: Ray may write a shard twice at once."""
        folder, base = posixpath.split(name)
        path = posixpath.join(self.path, name)
        temporary = posixpath.join(self.path, folder, f".{base}.{uuid.uuid4().hex}")
        try:
            with self.fs.open_output_stream(temporary) as file:
                yield file
            if isinstance(self.fs, LocalFileSystem):
                os.replace(temporary, path)
            else:
                self.fs.move(temporary, path)
        except BaseException:
            if self.fs.get_file_info(temporary).type != FileType.NotFound:
                self.fs.delete_file(temporary)
            raise

    def check(self, identity: dict[str, Any]) -> None:
        """Compare what the output depends on with that of an earlier run, or write it.

        Raises ValueError for a folder with other files (F395), or if anything has changed (F447).
        """
        names = [name for name in self.names() if not name.startswith(".")]
        if MANIFEST not in names:
            if names:
                raise ValueError(Errors.F395.format(path=self.address, names=listed(names)))
            self.fs.create_dir(self.path, recursive=True)
        elif self.names(ROWS):
            try:
                before = dict(json.loads(self.read(MANIFEST)))
            except (ValueError, TypeError) as error:
                words = {"path": self.address, "names": MANIFEST}
                raise ValueError(Errors.F395.format(**words)) from error
            changed = [name for name, value in identity.items() if before.get(name) != value]
            if changed:
                raise ValueError(Errors.F447.format(path=self.address, name=listed(changed)))
        with self.replacing(MANIFEST) as file:
            file.write(json.dumps(identity, ensure_ascii=False).encode())


def listed(names: Sequence[str]) -> str:
    """The first three of some names."""
    return ", ".join(names[:3]) + " …" * (len(names) > 3)


@dataclass(frozen=True)
class Attribute:
    """A `doc._` attribute with the type of its column."""

    name: str
    type: str

    def value(self, doc: Doc) -> Any:
        """The value for the column. Columns of text hold other values as JSON.

        Raises ValueError (F478) for a value that the column can't hold.
        """
        value = doc._.get(self.name)
        if value is None or (isinstance(value, str) and self.type == "text"):
            return value
        try:
            if self.type == "text":
                return json.dumps(value, ensure_ascii=False, default=lambda each: each.tolist())
            scalar = pa.scalar(value, TYPES[self.type]).as_py()
            if self.type == "int" and scalar != value:
                raise ValueError(f"{value} is not whole")
            return scalar
        except (AttributeError, TypeError, ValueError, pa.ArrowException) as error:
            message = Errors.F478.format(name=self.name, type=self.type, reason=error)
            raise ValueError(message) from error


def parse_attributes(texts: Sequence[str]) -> list[Attribute]:
    """Read "NAME" or "NAME:TYPE". Raises ValueError for an unknown type (F118), and for the name of
    another column (F479)."""
    attributes: dict[str, Attribute] = {}
    for text in texts:
        name, _, type = text.partition(":")
        if name in ("id", "text", "entities", "cats", "error", *attributes):
            raise ValueError(Errors.F479.format(name=name))
        if (type or "text") not in TYPES:
            words = {"what": "type", "name": type, "names": ", ".join(TYPES)}
            raise ValueError(Errors.F118.format(**words))
        attributes[name] = Attribute(name, type or "text")
    return list(attributes.values())


class Writer:
    """Writes rows to the Parquet file of a shard."""

    def __init__(self, file: NativeFile, attributes: Sequence[Attribute]) -> None:
        self.attributes = attributes
        columns = [(attribute.name, TYPES[attribute.type]) for attribute in attributes]
        self.schema = pa.schema(
            [
                ("id", pa.string()),
                ("text", pa.string()),
                ("entities", pa.list_(ENTITY)),
                ("cats", pa.map_(pa.string(), pa.float64())),
                *columns,
                ("error", pa.string()),
            ]
        )
        self.parquet = pq.ParquetWriter(file, self.schema)
        self.records: list[dict[str, Any]] = []

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.parquet.close()

    def add(self, id: str, doc: Doc) -> None:
        """Add an annotated row, with character offsets. Raises ValueError (F478), and pyarrow's
        errors for bad categories."""
        entities = [
            {
                "start": ent.start_char,
                "end": ent.end_char,
                "label": ent.label_,
                "text": ent.text,
                "confidence": ent._.confidence if ent.has_extension("confidence") else None,
            }
            for ent in doc.ents
        ]
        record = {"id": id, "text": doc.text, "entities": entities, "cats": list(doc.cats.items())}
        record |= {attribute.name: attribute.value(doc) for attribute in self.attributes}
        pa.array([record], pa.struct(list(self.schema)))  # raises errors of this row
        self.records.append(record)

    def add_failure(self, id: str, text: str, error: str) -> None:
        self.records.append({"id": id, "text": text or None, "error": error})

    def flush(self) -> None:
        """Write the added rows as a row group."""
        if self.records:
            self.parquet.write_table(pa.Table.from_pylist(self.records, self.schema))
            self.records.clear()
