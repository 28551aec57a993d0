"""The output: a file per shard, and the manifest for resuming."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import srsly
from pyarrow import NativeFile

from ..errors import Errors
from ..util.srsly_registry import look_up_once
from .addresses import Folder
from .rows import Failure, parse_attributes, record_of, schema_of
from .settings import Format, Settings
from .sources import File, Shard

if TYPE_CHECKING:
    from spacy.tokens import Doc

MANIFEST = "manifest.json"
ROWS, FAILED, ATTEMPTS = "rows", "failed", "attempts"
# Attempts at a shard that kills processes, and rows that add two attempts each.
MAX_ATTEMPTS, MAX_DEADLY = 10, 100
SUFFIXES: dict[Format, str] = {"parquet": ".parquet", "spacy": ".spacy"}


@dataclass(frozen=True)
class Plan:
    """The input of a run. unread: why files can't be read to their end, by number."""

    identity: dict[str, Any]
    files: list[File]
    shards: list[Shard]
    unread: dict[int, str]

    def save(self, folder: Folder) -> None:
        numbers = {file: number for number, file in enumerate(self.files)}
        content = {
            "settings": self.identity,
            "files": [asdict(file) for file in self.files],
            "shards": [
                [each.name, numbers[each.file], each.offset, each.first, each.rows, each.empty]
                for each in self.shards
            ],
            "unread": self.unread,
        }
        folder.make("")
        with folder.replacing(MANIFEST) as file:
            file.write(json.dumps(content, ensure_ascii=False).encode())

    @classmethod
    def load(cls, folder: Folder) -> Plan | None:
        """The plan of the run in a folder; None if it is empty or missing.

        Raises ValueError (F395) for a folder with other content.
        """
        names = folder.names()
        if MANIFEST not in names:
            others = [name for name in names if not name.startswith(".")]
            if others:
                raise ValueError(Errors.F395.format(path=folder.address, names=listed(others)))
            return None
        try:
            content = json.loads(folder.read(MANIFEST))
            files = [File(**file) for file in content["files"]]
            shards = [Shard(name, files[n], *place) for name, n, *place in content["shards"]]
            unread = {int(number): reason for number, reason in content["unread"].items()}
            return cls(content["settings"], files, shards, unread)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ValueError(Errors.F395.format(path=folder.address, names=MANIFEST)) from error

    def check(self, identity: dict[str, Any], files: Sequence[File], folder: Folder) -> None:
        """Raise ValueError (F447) if settings or files have changed."""
        for name, value in identity.items():
            if self.identity.get(name, value) != value:
                raise ValueError(Errors.F447.format(path=folder.address, name=name))
        before, now = ({file.path: file for file in each} for each in (self.files, files))
        changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
        if changed:
            raise ValueError(Errors.F447.format(path=folder.address, name=listed(changed)))

    def finished(self, folder: Folder) -> set[str]:
        """Names of the finished shards."""
        suffix = SUFFIXES[self.identity["format"]]
        return {name.removesuffix(suffix) for name in folder.names(ROWS) if name.endswith(suffix)}


def listed(names: Sequence[str]) -> str:
    """The first three of some names."""
    return ", ".join(names[:3]) + " …" * (len(names) > 3)


def prepare(folder: Folder, keep_attempts: bool = False) -> None:
    """Make the subfolders. keep_attempts: of an earlier run, which a row may have killed."""
    for within in (ROWS, FAILED, ATTEMPTS):
        folder.make(within)
    tidy(folder, keep_attempts)


def tidy(folder: Folder, keep_attempts: bool = False) -> None:
    """Delete unfinished files of killed processes."""
    for within in (ROWS, FAILED, ATTEMPTS):
        for name in folder.names(within):
            if name.startswith(".") or (within == ATTEMPTS and not keep_attempts):
                folder.delete(f"{within}/{name}")


@dataclass(frozen=True)
class Attempt:
    """An attempt at a shard, with a file until it is finished.

    If a process dies, Ray gives its shard to another one, without limit. Later attempts note each
    row before they annotate it, and skip rows that were noted twice.

    number: from 0. deadly: lines of the rows that killed processes.
    """

    folder: Folder
    name: str
    number: int
    deadly: frozenset[str]

    @classmethod
    def begin(cls, folder: Folder, name: str) -> Attempt | None:
        """A new attempt, None after too many."""
        before = [each for each in folder.names(ATTEMPTS) if each.startswith(f"{name}.")]
        lines = Counter(folder.read(f"{ATTEMPTS}/{each}").decode() for each in before)
        deadly = frozenset(line for line, count in lines.items() if line and count > 1)
        if len(before) >= MAX_ATTEMPTS + 2 * min(len(deadly), MAX_DEADLY):
            return None
        attempt = cls(folder, name, len(before), deadly)
        attempt.note("")
        return attempt

    def note(self, line: str) -> None:
        """Note the line that is annotated next. The note must survive the process only."""
        with self.folder.replacing(f"{ATTEMPTS}/{self.name}.{self.number}", sync=False) as file:
            file.write(line.encode())

    def end(self) -> None:
        """Delete the notes of all attempts."""
        for number in range(self.number + 1):
            self.folder.delete(f"{ATTEMPTS}/{self.name}.{number}")


class ParquetShard:
    """Writes Docs as rows of a Parquet file."""

    def __init__(self, file: NativeFile, settings: Settings) -> None:
        self.attributes = parse_attributes(settings.attributes)
        self.schema = schema_of(self.attributes)
        self.record = pa.struct(list(self.schema))
        self.writer = pq.ParquetWriter(file, self.schema)
        self.records: list[dict[str, Any]] = []

    def add(self, id: str, doc: Doc) -> None:
        """Raises ValueError (F478) for an attribute that its column can't hold, and pyarrow's
        errors for bad categories."""
        record = record_of(id, doc, self.attributes)
        pa.array([record], self.record)  # raises errors of this row
        self.records.append(record)

    def flush(self) -> None:
        """Write the added rows as a row group."""
        if self.records:
            self.writer.write_table(pa.Table.from_pylist(self.records, self.schema))
            self.records.clear()

    def close(self) -> None:
        self.writer.close()


class DocsShard:
    """Writes Docs as a .spacy file, with their ids in `doc.user_data["id"]`."""

    def __init__(self, file: NativeFile, settings: Settings) -> None:
        from spacy.tokens import DocBin

        look_up_once()
        self.file = file
        self.docs = DocBin(store_user_data=True)

    def add(self, id: str, doc: Doc) -> None:
        """Raises msgpack's errors before they can damage the DocBin."""
        doc.user_data["id"] = id
        srsly.msgpack_dumps([doc.user_data, doc.cats])
        self.docs.add(doc)

    def flush(self) -> None:
        """A DocBin is written at once."""

    def close(self) -> None:
        self.file.write(self.docs.to_bytes())


@contextmanager
def writing(
    folder: Folder, name: str, failures: Sequence[Failure], settings: Settings
) -> Iterator[ParquetShard | DocsShard]:
    """A shard to add Docs to; it and its failures are finished unless something is raised."""
    with folder.replacing(f"{ROWS}/{name}{SUFFIXES[settings.format]}") as file:
        shard = (ParquetShard if settings.format == "parquet" else DocsShard)(file, settings)
        try:
            yield shard
        finally:
            shard.close()
        write_failures(folder, name, failures)


def write_failures(folder: Folder, name: str, failures: Sequence[Failure]) -> None:
    """Write failed rows as JSON lines, replacing those of an earlier attempt."""
    path = f"{FAILED}/{name}.jsonl"
    if not failures:
        folder.delete(path)
        return
    with folder.replacing(path) as file:
        for failure in failures:
            file.write(failure.to_json())
