"""The output: a file of each shard, and the manifest by which a run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import srsly
from pyarrow import NativeFile

from ..errors import Errors
from .addresses import Folder
from .rows import Failure, parse_attributes, record_of, schema_of
from .settings import Format, Settings
from .sources import File, Shard

if TYPE_CHECKING:
    from spacy.tokens import Doc

MANIFEST = "manifest.json"
ROWS, FAILED, ATTEMPTS = "rows", "failed", "attempts"
MAX_ATTEMPTS = 4  # at a shard, where the process dies that works on it
SUFFIXES: dict[Format, str] = {"parquet": ".parquet", "spacy": ".spacy"}


# The manifest


@dataclass(frozen=True)
class Plan:
    """What a run reads.

    identity: of the settings. files: of the input. shards: of all files. unread: why files can't
    be read (further), by number.
    """

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
                [shard.name, numbers[shard.file], shard.offset, shard.first, shard.rows]
                for shard in self.shards
            ],
            "unread": self.unread,
        }
        folder.make("")
        with folder.replacing(MANIFEST) as file:
            file.write(json.dumps(content, ensure_ascii=False).encode())

    @classmethod
    def load(cls, folder: Folder) -> Plan | None:
        """The plan of the run whose output a folder holds, None where it is empty or missing.

        Raises ValueError (F463) for a folder that holds something else.
        """
        names = folder.names()
        if MANIFEST not in names:
            others = [name for name in names if not name.startswith(f".{MANIFEST}")]
            if others:
                raise ValueError(Errors.F463.format(path=folder.address, names=listed(others)))
            return None
        try:
            content = json.loads(folder.read(MANIFEST))
            files = [File(**file) for file in content["files"]]
            shards = [Shard(name, files[n], *place) for name, n, *place in content["shards"]]
            unread = {int(number): reason for number, reason in content["unread"].items()}
            return cls(content["settings"], files, shards, unread)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ValueError(Errors.F463.format(path=folder.address, names=MANIFEST)) from error

    def check(self, identity: dict[str, Any], files: Sequence[File], folder: Folder) -> None:
        """Raise ValueError where it is not what is asked for now: other settings (F464) or other
        files (F465)."""
        for name, value in identity.items():
            if self.identity.get(name) != value:
                raise ValueError(Errors.F464.format(path=folder.address, name=name))
        before, now = ({file.path: file for file in each} for each in (self.files, files))
        changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
        if changed:
            raise ValueError(Errors.F465.format(path=folder.address, names=listed(changed)))

    def finished(self, folder: Folder) -> set[str]:
        """Names of the shards whose file is there."""
        suffix = SUFFIXES[self.identity["format"]]
        return {name.removesuffix(suffix) for name in folder.names(ROWS) if name.endswith(suffix)}


def listed(names: Sequence[str]) -> str:
    """The first three of some names."""
    return ", ".join(names[:3]) + " …" * (len(names) > 3)


# A shard


def prepare(folder: Folder) -> None:
    """Make the folders within, and delete what a run that was stopped has left half done."""
    for within in (ROWS, FAILED, ATTEMPTS):
        folder.make(within)
        for name in folder.names(within):
            if name.startswith(".") or within == ATTEMPTS:
                folder.delete(f"{within}/{name}")


def begin(folder: Folder, name: str) -> bool:
    """Note an attempt at a shard, unless there were too many: Ray hands a shard whose process
    died to another one, for ever."""
    before = count_attempts(folder, name)
    if before == MAX_ATTEMPTS:
        return False
    with folder.replacing(f"{ATTEMPTS}/{name}.{before}"):
        return True


def end(folder: Folder, name: str) -> None:
    """Forget the attempts at a shard."""
    for number in range(count_attempts(folder, name)):
        folder.delete(f"{ATTEMPTS}/{name}.{number}")


def count_attempts(folder: Folder, name: str) -> int:
    return sum(each.startswith(f"{name}.") for each in folder.names(ATTEMPTS))


class ParquetShard:
    """Docs that are written as rows of a Parquet file."""

    def __init__(self, file: NativeFile, settings: Settings) -> None:
        self.attributes = parse_attributes(settings.attributes)
        self.schema = schema_of(self.attributes)
        self.writer = pq.ParquetWriter(file, self.schema)
        self.records: list[dict[str, Any]] = []

    def add(self, id: str, doc: Doc) -> None:
        """Raises ValueError (F478) for an attribute that its column can't hold."""
        self.records.append(record_of(id, doc, self.attributes))

    def flush(self) -> None:
        """Write what was added as a row group."""
        if self.records:
            self.writer.write_table(pa.Table.from_pylist(self.records, self.schema))
            self.records.clear()

    def close(self) -> None:
        self.writer.close()


class DocsShard:
    """Docs that are written as a .spacy file, with their ids in `doc.user_data["id"]`."""

    def __init__(self, file: NativeFile, settings: Settings) -> None:
        from spacy.tokens import DocBin

        self.file = file
        self.docs = DocBin(store_user_data=True)

    def add(self, id: str, doc: Doc) -> None:
        """Raises TypeError for user data that can't be written: before it is added, since the
        DocBin would be damaged."""
        doc.user_data["id"] = id
        srsly.msgpack_dumps(doc.user_data)
        self.docs.add(doc)

    def flush(self) -> None:
        """Nothing: a DocBin is written whole."""

    def close(self) -> None:
        self.file.write(self.docs.to_bytes())


@contextmanager
def writing(
    folder: Folder, name: str, failures: Sequence[Failure], settings: Settings
) -> Iterator[ParquetShard | DocsShard]:
    """A shard to add Docs to. It is there, and by this finished, where nothing is raised, and so
    are the failures that there are by then."""
    with folder.replacing(f"{ROWS}/{name}{SUFFIXES[settings.format]}") as file:
        shard = (ParquetShard if settings.format == "parquet" else DocsShard)(file, settings)
        try:
            yield shard
        finally:
            shard.close()
        write_failures(folder, name, failures)


def write_failures(folder: Folder, name: str, failures: Sequence[Failure]) -> None:
    """Write rows that failed as JSON lines. Where none did, those of an earlier attempt go."""
    path = f"{FAILED}/{name}.jsonl"
    if not failures:
        folder.delete(path)
        return
    with folder.replacing(path) as file:
        for failure in failures:
            file.write(failure.to_json())
