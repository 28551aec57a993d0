"""The output: a file of each shard, and the manifest by which a run goes on."""

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
from ..util.packing import look_up_once
from .addresses import Folder
from .rows import Failure, parse_attributes, record_of, schema_of
from .settings import Format, Settings
from .sources import File, Shard

if TYPE_CHECKING:
    from spacy.tokens import Doc

MANIFEST = "manifest.json"
ROWS, FAILED, ATTEMPTS = "rows", "failed", "attempts"
# At a shard of which processes die; two more for each row that is found deadly, up to so many.
MAX_ATTEMPTS, MAX_DEADLY = 10, 100
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
                [
                    *(shard.name, numbers[shard.file], shard.offset, shard.first),
                    *(shard.rows, shard.empty),
                ]
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

        Raises ValueError (F395) for a folder that holds something else.
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
            if self.identity.get(name, value) != value:  # older runs have fewer
                raise ValueError(Errors.F447.format(path=folder.address, name=name))
        before, now = ({file.path: file for file in each} for each in (self.files, files))
        changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
        if changed:
            raise ValueError(Errors.F447.format(path=folder.address, name=listed(changed)))

    def finished(self, folder: Folder) -> set[str]:
        """Names of the shards whose file is there."""
        suffix = SUFFIXES[self.identity["format"]]
        return {name.removesuffix(suffix) for name in folder.names(ROWS) if name.endswith(suffix)}


def listed(names: Sequence[str]) -> str:
    """The first three of some names."""
    return ", ".join(names[:3]) + " …" * (len(names) > 3)


# A shard


def prepare(folder: Folder, keep_attempts: bool = False) -> None:
    """Make the folders within.

    keep_attempts: of an earlier run, which may have died of a row in this very process.
    """
    for within in (ROWS, FAILED, ATTEMPTS):
        folder.make(within)
    tidy(folder, keep_attempts)


def tidy(folder: Folder, keep_attempts: bool = False) -> None:
    """Delete what processes that died have left half done."""
    for within in (ROWS, FAILED, ATTEMPTS):
        for name in folder.names(within):
            if name.startswith(".") or (within == ATTEMPTS and not keep_attempts):
                folder.delete(f"{within}/{name}")


@dataclass(frozen=True)
class Attempt:
    """An attempt at a shard, of which a file is there until it is finished.

    Ray gives a shard to another process, for ever, where one dies. So after the first time rows
    are annotated one by one and noted before, and one that was noted twice is not tried again.

    number: from 0. deadly: lines of the rows on which processes died.
    """

    folder: Folder
    name: str
    number: int
    deadly: frozenset[str]

    @classmethod
    def begin(cls, folder: Folder, name: str) -> Attempt | None:
        """A new attempt at a shard, None where there were too many."""
        before = [each for each in folder.names(ATTEMPTS) if each.startswith(f"{name}.")]
        lines = Counter(folder.read(f"{ATTEMPTS}/{each}").decode() for each in before)
        deadly = frozenset(line for line, count in lines.items() if line and count > 1)
        if len(before) >= MAX_ATTEMPTS + 2 * min(len(deadly), MAX_DEADLY):
            return None
        attempt = cls(folder, name, len(before), deadly)
        attempt.note("")
        return attempt

    def note(self, line: str) -> None:
        """Note the line that is annotated now."""
        # Written for each row. It must survive the process, but not the machine.
        with self.folder.replacing(f"{ATTEMPTS}/{self.name}.{self.number}", sync=False) as file:
            file.write(line.encode())

    def end(self) -> None:
        """Forget this attempt and those before."""
        for number in range(self.number + 1):
            self.folder.delete(f"{ATTEMPTS}/{self.name}.{number}")


class ParquetShard:
    """Docs that are written as rows of a Parquet file."""

    def __init__(self, file: NativeFile, settings: Settings) -> None:
        self.attributes = parse_attributes(settings.attributes)
        self.schema = schema_of(self.attributes)
        self.record = pa.struct(list(self.schema))
        self.writer = pq.ParquetWriter(file, self.schema)
        self.records: list[dict[str, Any]] = []

    def add(self, id: str, doc: Doc) -> None:
        """Raises ValueError (F478) for an attribute that its column can't hold, and whatever
        pyarrow raises for categories that are no names with numbers."""
        record = record_of(id, doc, self.attributes)
        pa.array([record], self.record)  # now, while it is known whose it is
        self.records.append(record)

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

        look_up_once()
        self.file = file
        self.docs = DocBin(store_user_data=True)

    def add(self, id: str, doc: Doc) -> None:
        """Raises what msgpack raises for user data and categories that can't be written: before
        they are added, since the DocBin would be damaged."""
        doc.user_data["id"] = id
        srsly.msgpack_dumps([doc.user_data, doc.cats])
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
