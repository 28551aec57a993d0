"""Input files, their shards, and their rows."""

from __future__ import annotations

import io
import json
import posixpath
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Literal

import pyarrow.parquet as pq
from pyarrow.fs import FileSystem, FileType

from ..errors import Errors, Warnings
from ..util.files import BYTE_ORDER_MARK
from ..util.plural import counted
from ..util.srsly_registry import look_up_once
from .addresses import open_address, walk
from .rows import Failure, Row
from .settings import Settings

if TYPE_CHECKING:
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

Kind = Literal["json", "text", "parquet", "docs"]

KINDS: dict[str, Kind] = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".txt": "text",
    ".parquet": "parquet",
    ".spacy": "docs",
}
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # of files of lines only
CHUNK = 1 << 20  # bytes that are read at once
CHUNK_ROWS = 4096  # of Parquet


@dataclass(frozen=True)
class File:
    """A file of the input.

    address: as given, of the file or its folder. path: in its filesystem. name: short and unique.
    size: bytes. modified: nanoseconds since 1970.
    """

    address: str
    path: str
    name: str
    size: int
    modified: int

    def open(self) -> tuple[FileSystem, str]:
        return open_address(self.address)[0], self.path


@dataclass(frozen=True)
class Shard:
    """Rows of a file that are annotated and written together.

    name: of the output. offset: of the first row, in bytes of an unpacked file of lines. first:
    number of rows before. rows: lines, records or Docs. empty: number of empty lines.
    """

    name: str
    file: File
    offset: int
    first: int
    rows: int
    empty: int = 0

    @property
    def filled(self) -> int:
        """Rows without empty lines."""
        return self.rows - self.empty

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Shard:
        fields = json.loads(text)
        return cls(**{**fields, "file": File(**fields["file"])})


def find_files(inputs: Sequence[str]) -> list[File]:
    """The files at addresses of files and folders, each once. Warns (W460) of files of unknown
    formats in folders.

    Raises FileNotFoundError (F001) for a missing address, and ValueError for a file of unknown
    format (F462), an unknown address (F477), and without any file (F466).
    """
    found: dict[tuple[str, str], File] = {}
    unknown = []
    for address in inputs:
        fs, root = open_address(address)
        infos = walk(fs, root)
        if not infos and fs.get_file_info(root).type != FileType.Directory:
            raise FileNotFoundError(Errors.F001.format(path=address))
        for info in infos:
            if kind_of(info.path) is None:
                if info.path == root:
                    raise ValueError(Errors.F462.format(path=address, suffixes=", ".join(KINDS)))
                unknown.append(info.path)
                continue
            name = posixpath.relpath(
                info.path, root if info.path != root else posixpath.dirname(root)
            )
            file = File(address, info.path, name, info.size, info.mtime_ns or 0)
            found.setdefault((fs.type_name, info.path), file)
    if not found:
        raise ValueError(Errors.F466.format(paths=", ".join(inputs), suffixes=", ".join(KINDS)))
    if unknown:
        words = {"count": counted(len(unknown), "file"), "names": ", ".join(unknown[:3])}
        warnings.warn(Warnings.W460.format(**words), stacklevel=2)
    return with_names_of_their_own(list(found.values()))


def with_names_of_their_own(files: Sequence[File]) -> list[File]:
    """Files with the same short name are named by their path."""
    count = Counter(file.name for file in files)
    return [
        file if count[file.name] == 1 else replace(file, name=file.path.lstrip("/"))
        for file in files
    ]


def kind_of(path: str) -> Kind | None:
    """The format of a file by its name, if it is known."""
    stem, suffix = posixpath.splitext(path.lower())
    if suffix not in PACKED:
        return KINDS.get(suffix)
    kind = KINDS.get(posixpath.splitext(stem)[1])
    return kind if kind in ("json", "text") else None


def cut(file: File, number: int, rows: int, settings: Settings) -> tuple[list[Shard], str]:
    """The shards of a file, `rows` each, and the reason if it can't be read completely."""
    shards: list[Shard] = []
    try:
        for place in CUTS[kind_of(file.path) or "text"](file, rows, settings):
            shards.append(Shard(f"{number:05d}-{len(shards):05d}", file, *place))
    except Exception as error:  # of pyarrow, msgpack, zlib
        return shards, str(error)
    return shards, ""


Cut = tuple[int, int, int, int]  # offset, first, rows and empty lines of a shard


def cut_lines(file: File, rows: int, settings: Settings) -> Iterator[Cut]:
    """Shards of lines, up to where reading fails."""
    offset = end = first = count = empty = 0
    failure: Exception | None = None
    try:
        for line in read_lines(file):
            if count == rows:
                yield offset, first, count, empty
                offset, first, count, empty = end, first + count, 0, 0
            end += len(line)
            count += 1
            empty += is_empty(line)
    except (OSError, ValueError) as error:
        failure = error
    if count:
        yield offset, first, count, empty
    if failure is not None:
        raise failure


def cut_parquet(file: File, rows: int, settings: Settings) -> Iterator[Cut]:
    """Shards of rows. Raises ValueError (F476) without a column of texts."""
    with open_parquet(file) as table:
        columns = table.schema_arrow.names
        if settings.text not in columns:
            raise ValueError(Errors.F476.format(column=settings.text, columns=", ".join(columns)))
        total = table.metadata.num_rows
    for first in range(0, total, rows):
        yield 0, first, min(rows, total - first), 0


def cut_docs(file: File, rows: int, settings: Settings) -> Iterator[Cut]:
    """One shard, as the file is read at once."""
    yield 0, 0, len(open_docs(file)), 0


CUTS: dict[Kind, Callable[[File, int, Settings], Iterator[Cut]]] = {
    "json": cut_lines,
    "text": cut_lines,
    "parquet": cut_parquet,
    "docs": cut_docs,
}


def read_rows(shard: Shard, settings: Settings, vocab: Vocab) -> Iterator[Row | Failure]:
    """The rows and unreadable rows of a shard, without empty lines.

    Raises OSError or ValueError if the file can't be read.
    """
    kind = kind_of(shard.file.path)
    if kind == "docs":
        yield from read_docs(shard, vocab)
        return
    records = read_parquet(shard, settings) if kind == "parquet" else read_raw(shard)
    for line, record in records:
        id = None
        try:
            if isinstance(record, bytes):
                record = parse_line(record, kind == "json", settings)
            id = record.get(settings.id)
            yield row_of(record, line, shard, settings)
        except ValueError as error:
            yield Failure(None if id is None else str(id), shard.file.name, line, str(error))


def row_of(record: Mapping[str, Any], line: int, shard: Shard, settings: Settings) -> Row:
    """A row; the default id is made of file and line.

    Raises ValueError for a text that isn't a string (F474) or invalid Unicode (F475).
    """
    text, id = record.get(settings.text), record.get(settings.id)
    if not isinstance(text, str):
        raise ValueError(Errors.F474.format(key=settings.text))
    id = f"{shard.file.name}:{line}" if id is None else str(id)
    try:
        (text + id).encode()
    except UnicodeEncodeError as error:
        raise ValueError(Errors.F475) from error
    return Row(id, line, text)


def parse_line(raw: bytes, is_json: bool, settings: Settings) -> Mapping[str, Any]:
    """The record of a line. Raises ValueError unless it is UTF-8 (F472) and, if `is_json`, a JSON
    object (F473)."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(Errors.F472.format(offset=error.start)) from error
    if not is_json:
        return {settings.text: text.rstrip("\r\n")}
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(Errors.F473.format(reason=error)) from error
    if not isinstance(record, dict):
        raise ValueError(Errors.F473.format(reason=type(record).__name__))
    return record


def read_raw(shard: Shard) -> Iterator[tuple[int, bytes]]:
    """Number and content of a shard's non-empty lines."""
    lines = read_lines(shard.file, shard.offset, shard.first)
    for line, raw in enumerate(islice(lines, shard.rows), shard.first + 1):
        if not is_empty(raw):
            yield line, raw.removeprefix(BYTE_ORDER_MARK)


def is_empty(line: bytes) -> bool:
    # Concatenated files have marks within.
    return not line.removeprefix(BYTE_ORDER_MARK).strip()


def read_lines(file: File, offset: int = 0, first: int = 0) -> Iterator[bytes]:
    """The lines of a file from an offset on, or, if it is packed, after the first so many."""
    fs, path = file.open()
    packing = PACKED.get(posixpath.splitext(path.lower())[1])
    if packing is not None:
        with fs.open_input_stream(path, compression=packing) as stream:
            yield from islice(io.BufferedReader(stream), first, None)
        return
    with fs.open_input_file(path) as stream:
        stream.seek(offset)
        yield from io.BufferedReader(stream, CHUNK)


def read_parquet(shard: Shard, settings: Settings) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Number and values of a shard's rows, reading only their row groups."""
    end = shard.first + shard.rows
    with open_parquet(shard.file) as table:
        sizes = [table.metadata.row_group(i).num_rows for i in range(table.num_row_groups)]
        starts = list(accumulate(sizes, initial=0))
        groups = [i for i in range(len(sizes)) if starts[i] < end and starts[i + 1] > shard.first]
        columns = set(table.schema_arrow.names) & {settings.text, settings.id}
        number = starts[groups[0]]
        for batch in table.iter_batches(CHUNK_ROWS, row_groups=groups, columns=sorted(columns)):
            first = max(number, shard.first)
            last = min(number + batch.num_rows, end)
            if first < last:
                records = batch.slice(first - number, last - first).to_pylist()
                yield from enumerate(records, first + 1)
            number += batch.num_rows
            if number >= end:
                return


def read_docs(shard: Shard, vocab: Vocab) -> Iterator[Row]:
    """The Docs of a .spacy file, with ids from `doc.user_data`, where `annotate` writes them."""
    for line, doc in enumerate(open_docs(shard.file).get_docs(vocab), 1):
        id = doc.user_data.get("id", f"{shard.file.name}:{line}")
        yield Row(str(id), line, doc.text, doc)


def open_parquet(file: File) -> pq.ParquetFile:
    fs, path = file.open()
    return pq.ParquetFile(path, filesystem=fs)


def open_docs(file: File) -> DocBin:
    from spacy.tokens import DocBin

    look_up_once()
    fs, path = file.open()
    with fs.open_input_file(path) as stream:
        return DocBin().from_bytes(stream.read())
