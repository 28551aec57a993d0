"""Input files, and their rows in shards."""

import io
import json
import os
import posixpath
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from ..corpora.records import csv_lines, require_columns, tab_lines
from ..errors import Errors, Warnings
from ..text.batches import batch_by_length
from ..util.files import BYTE_ORDER_MARK, decode, recoded, split_lines, suffix_of
from ..util.messages import shortened
from .settings import SHARD_CHARACTERS, Settings

LINES = (".jsonl", ".txt", ".csv", ".tsv")
FORMATS = (*LINES, *(f"{suffix}.gz" for suffix in LINES), ".parquet")
CHUNK_ROWS = 256  # of Parquet


def open_address(address: str) -> tuple[FileSystem, str]:
    """The filesystem and path of a local path or an address such as s3://bucket/folder.

    Raises ValueError (F477) for an address that pyarrow doesn't know.
    """
    try:
        fs, path = FileSystem.from_uri(address if "://" in address else os.path.abspath(address))
        return fs, path
    except (ValueError, OSError, ImportError, NotImplementedError) as error:
        raise ValueError(Errors.F477.format(address=address, reason=error)) from error


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


class Row(NamedTuple):
    """A row of the input.

    id: given, or made of file and line. error: why it has no text, or "".
    """

    id: str
    text: str
    error: str = ""


@dataclass(frozen=True)
class Shard:
    """Rows of a file that are annotated and written together; none if that is done already.

    name: of the output. The last one of a file has no rows, but the names of the others, and why
    the file can't be read further.
    """

    name: str
    rows: Sequence[Row]
    names: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def find_files(inputs: Sequence[str], output: str) -> list[File]:
    """The files at addresses of files and folders, each once, except those in the folder `output`.

    Warns (W466) of the other files in a folder. Raises FileNotFoundError (F001) for a missing
    address, and ValueError for an unknown one (F477), and for one without files of a known format
    (F466).
    """
    found: dict[str, tuple[str, FileInfo]] = {}
    for address in inputs:
        fs, root = open_address(address)
        given = fs.get_file_info(root)
        if given.type == FileType.NotFound:
            raise FileNotFoundError(Errors.F001.format(path=address))
        infos = [given] if given.is_file else files_within(fs, root)
        infos = [info for info in infos if not info.path.startswith(f"{output}/")]
        known = [info for info in infos if info.path.lower().endswith(FORMATS)]
        others = [info.base_name for info in infos if not info.path.lower().endswith(FORMATS)]
        if not known:
            raise ValueError(Errors.F466.format(paths=address, suffixes=", ".join(FORMATS)))
        if others:
            words = {"n": len(others), "names": shortened(others), "suffixes": ", ".join(FORMATS)}
            warnings.warn(Warnings.W466.format(path=address, **words), stacklevel=2)
        for info in known:
            found.setdefault(info.path, (address, info))
    common = posixpath.commonpath([posixpath.dirname(path.lstrip("/")) for path in found])
    return [
        File(address, path, posixpath.relpath(path.lstrip("/"), common), info.size, info.mtime_ns)
        for path, (address, info) in found.items()
    ]


def files_within(fs: FileSystem, root: str) -> list[FileInfo]:
    """The sorted files in a folder and its subfolders, except names with a leading dot or
    underscore."""
    infos = fs.get_file_info(FileSelector(root, recursive=True))
    files = {posixpath.relpath(each.path, root): each for each in infos if each.is_file}
    return [files[name] for name in sorted(files) if not re.search(r"(^|/)[._]", name)]


def shards_of(
    file: File, number: int, finished: frozenset[str], settings: Settings
) -> Iterator[Shard]:
    """The shards of a file, up to where reading fails.

    number: of the file. finished: names of shards that need no rows.
    """
    unread: list[str] = []

    def readable_rows() -> Iterator[Row]:
        try:
            yield from read_rows(file, settings)
        except Exception as error:  # of pyarrow, zlib
            unread.append(Errors.F481.format(name=file.name, reason=error))

    names: list[str] = []
    for rows in batch_by_length(
        readable_rows(), SHARD_CHARACTERS, lambda row: len(row.text), settings.shard_rows
    ):
        names.append(f"{number:05d}-{len(names):05d}")
        yield Shard(names[-1], [] if names[-1] in finished else rows)
    yield Shard("", [], names, unread)


def read_rows(file: File, settings: Settings) -> Iterator[Row]:
    """The rows of a file, without empty lines. Raises any error of the formats' libraries, and
    ValueError (F476) for a table without a column of texts."""
    suffix = suffix_of(Path(file.path))
    readers: dict[str, Callable[..., Iterator[tuple[int, Any]]]]
    readers = {".parquet": read_parquet, ".csv": read_table, ".tsv": read_table}
    for number, record in readers.get(suffix, read_lines)(file, settings):
        id = f"{file.name}:{number}"
        if isinstance(record, bytes) and not record.strip():
            continue
        try:
            if isinstance(record, bytes):
                line = decode(record, Path(file.name), number)
                record = {settings.text: line} if suffix == ".txt" else parse_object(line)
            if isinstance(record, tuple):
                header, cells = record
                wanted, fits = f"{len(header)} as in the first line", len(cells) == len(header)
                require_columns(Path(file.name), number, cells, fits, wanted)
                record = dict(zip(header, cells, strict=True))
            if record.get(settings.id) not in (None, ""):
                id = str(record[settings.id])
            yield Row(id, checked(id, record.get(settings.text), settings))
        except ValueError as error:
            yield Row(id.encode("utf-8", "replace").decode(), "", str(error))


def read_lines(file: File, settings: Settings) -> Iterator[tuple[int, bytes]]:
    """Number and content of each line."""
    fs, _ = open_address(file.address)
    # Packed files are read in small pieces: where one is damaged, all of it is lost.
    with fs.open_input_stream(file.path, buffer_size=io.DEFAULT_BUFFER_SIZE) as stream:
        lines = recoded(io.BufferedReader(stream), settings.encoding, Path(file.name))
        for number, line in split_lines(lines):
            yield number, line.removeprefix(BYTE_ORDER_MARK)  # within concatenated files, too


def read_table(file: File, settings: Settings) -> Iterator[tuple[int, tuple[list[str], ...]]]:
    """Number of the first line, names in the first row, and cells of each row."""
    path = Path(file.name)
    split = csv_lines if suffix_of(path) == ".csv" else tab_lines
    lines = ((n, decode(raw, path, n)) for n, raw in read_lines(file, settings))
    header: list[str] = []
    for number, cells in split(path, lines):
        if not header:
            header = cells
            if settings.text not in header:
                names = ", ".join(header)
                raise ValueError(Errors.F476.format(column=settings.text, columns=names))
        else:
            yield number, (header, cells)


def read_parquet(file: File, settings: Settings) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Number and values of each row."""
    with pq.ParquetFile(file.path, filesystem=open_address(file.address)[0]) as table:
        types = {field.name: str(field.type) for field in table.schema_arrow}
        if "string" not in types.get(settings.text, ""):
            listed = ", ".join(f"{name} ({type})" for name, type in types.items())
            raise ValueError(Errors.F476.format(column=settings.text, columns=listed))
        columns = [name for name in types if name in (settings.text, settings.id)]
        batches = table.iter_batches(CHUNK_ROWS, columns=columns)
        yield from enumerate((row for batch in batches for row in batch.to_pylist()), 1)


def parse_object(line: str) -> Mapping[str, Any]:
    """The record of a line. Raises ValueError (F473) unless it is a JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(Errors.F473.format(reason=error)) from error
    if not isinstance(record, dict):
        raise ValueError(Errors.F473.format(reason=f"it is a {type(record).__name__} in JSON"))
    return record


def checked(id: str, text: object, settings: Settings) -> str:
    """The text. Raises ValueError if it isn't a string (F474), or if text or id aren't Unicode."""
    if not isinstance(text, str):
        found = "nothing" if text is None else f"no text but {text!r:.40} ({type(text).__name__})"
        raise ValueError(Errors.F474.format(key=settings.text, found=found))
    (text + id).encode()
    return text
