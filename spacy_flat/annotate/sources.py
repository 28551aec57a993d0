"""Input files, and their rows in shards."""

from __future__ import annotations

import io
import json
import os
import posixpath
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from ..errors import Errors, Warnings
from ..util.files import BYTE_ORDER_MARK
from ..util.messages import counted
from .settings import SHARD_CHARACTERS, Settings

FORMATS = (".jsonl", ".ndjson", ".json", ".txt", ".parquet")
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # of files of lines only
CHUNK = 1 << 20  # bytes to read at once
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

    id: given, or made of file and line. error: why it has no text, or "". read: the share of the
    file up to here.
    """

    id: str
    text: str
    error: str
    read: float


@dataclass(frozen=True)
class Shard:
    """Rows of a file that are annotated and written together; none if that is done already.

    name: of the output. size: bytes of the file that were read for it. The last one of a file has
    no rows, but the names of the others, and the reason if the file can't be read further.
    """

    name: str
    rows: Sequence[Row]
    size: float
    names: Sequence[str] = ()
    unread: str = ""


def find_files(inputs: Sequence[str]) -> list[File]:
    """The files at addresses of files and folders, each once. Warns (W460) of files of unknown
    formats in folders.

    Raises FileNotFoundError (F001) for a missing address, and ValueError for a file of unknown
    format (F462), an unknown address (F477), and without any file (F466).
    """
    found: dict[str, tuple[str, FileInfo]] = {}
    for address in inputs:
        fs, root = open_address(address)
        given = fs.get_file_info(root)
        if given.type == FileType.NotFound:
            raise FileNotFoundError(Errors.F001.format(path=address))
        if given.is_file and not format_of(root):
            raise ValueError(Errors.F462.format(path=address, suffixes=", ".join(FORMATS)))
        for info in [given] if given.is_file else files_within(fs, root):
            found.setdefault(info.path, (address, info))
    unknown = [path for path in found if not format_of(path)]
    if len(unknown) == len(found):
        words = {"paths": ", ".join(inputs), "suffixes": ", ".join(FORMATS)}
        raise ValueError(Errors.F466.format(**words))
    if unknown:
        words = {"count": counted(len(unknown), "file"), "names": ", ".join(unknown[:3])}
        warnings.warn(Warnings.W460.format(**words), stacklevel=2)
    common = posixpath.commonpath([posixpath.dirname(path.lstrip("/")) for path in found])
    return [
        File(address, path, posixpath.relpath(path.lstrip("/"), common), info.size, info.mtime_ns)
        for path, (address, info) in found.items()
        if format_of(path)
    ]


def files_within(fs: FileSystem, root: str) -> list[FileInfo]:
    """The sorted files in a folder and its subfolders, except names with a leading dot or
    underscore."""
    infos = fs.get_file_info(FileSelector(root, recursive=True))
    files = {posixpath.relpath(each.path, root): each for each in infos if each.is_file}
    return [files[name] for name in sorted(files) if not re.search(r"(^|/)[._]", name)]


def format_of(path: str) -> str:
    """The suffix, that of a packed file of lines without the packing's; "" if unknown."""
    stem, suffix = posixpath.splitext(path.lower())
    if suffix in PACKED:
        suffix = posixpath.splitext(stem)[1].replace(".parquet", "")
    return suffix if suffix in FORMATS else ""


def shards_of(
    file: File, number: int, finished: frozenset[str], settings: Settings
) -> Iterator[Shard]:
    """The shards of a file, up to where reading fails.

    number: of the file. finished: names of shards that need no rows.
    """
    names: list[str] = []
    read, unread = 0.0, ""

    def shard_of(rows: list[Row]) -> Shard:
        nonlocal read
        names.append(f"{number:05d}-{len(names):05d}")
        size, read = file.size * (rows[-1].read - read), rows[-1].read
        return Shard(names[-1], [] if names[-1] in finished else rows, size)

    rows: list[Row] = []
    characters = 0
    try:
        for row in read_rows(file, settings):
            rows.append(row)
            characters += len(row.text)
            if len(rows) == settings.shard_rows or characters >= SHARD_CHARACTERS:
                yield shard_of(rows)
                rows, characters = [], 0
    except Exception as error:  # of pyarrow, zlib
        unread = Errors.F481.format(name=file.name, reason=error)
    if rows:
        yield shard_of(rows)
    yield Shard("", [], file.size * (1 - read), names, unread)


def read_rows(file: File, settings: Settings) -> Iterator[Row]:
    """The rows of a file, without empty lines. Raises any error of the formats' libraries, and
    ValueError (F476) for a Parquet file without a column of texts."""
    format = format_of(file.path)
    records = read_parquet(file, settings) if format == ".parquet" else read_lines(file)
    for number, record, read in records:
        id = f"{file.name}:{number}"
        try:
            if isinstance(record, bytes):
                record = parse_line(record, format, settings)
            if record.get(settings.id) is not None:
                id = str(record[settings.id])
            yield Row(id, checked(id, record.get(settings.text), settings), "", read)
        except ValueError as error:
            yield Row(id.encode("utf-8", "replace").decode(), "", str(error), read)


def read_lines(file: File) -> Iterator[tuple[int, bytes, float]]:
    """Number and content of each non-empty line, and the share of the file that is read."""
    fs, path = open_address(file.address)[0], file.path
    packing = PACKED.get(posixpath.splitext(path.lower())[1])
    with fs.open_input_file(path) as source:
        # What is packed is read in small pieces: where one is damaged, all of it is lost.
        stream = pa.CompressedInputStream(source, packing) if packing else source
        lines = io.BufferedReader(stream, io.DEFAULT_BUFFER_SIZE if packing else CHUNK)
        read = 0  # not `tell()`, which is a chunk ahead
        for number, line in enumerate(lines, 1):
            read += len(line)
            line = line.removeprefix(BYTE_ORDER_MARK)  # concatenated files have marks within
            if line.strip():
                yield number, line, (source.tell() if packing else read) / file.size


def read_parquet(file: File, settings: Settings) -> Iterator[tuple[int, Mapping[str, Any], float]]:
    """Number and values of each row, and the share of the file that is read."""
    with pq.ParquetFile(file.path, filesystem=open_address(file.address)[0]) as table:
        types = {field.name: str(field.type) for field in table.schema_arrow}
        if "string" not in types.get(settings.text, ""):
            listed = ", ".join(f"{name} ({type})" for name, type in types.items())
            raise ValueError(Errors.F476.format(column=settings.text, columns=listed))
        columns = [name for name in types if name in (settings.text, settings.id)]
        batches = table.iter_batches(CHUNK_ROWS, columns=columns)
        records = (record for batch in batches for record in batch.to_pylist())
        for number, record in enumerate(records, 1):
            yield number, record, number / table.metadata.num_rows


def parse_line(raw: bytes, format: str, settings: Settings) -> Mapping[str, Any]:
    """The record of a line. Raises ValueError (F473) unless it is UTF-8 and, in other formats than
    .txt, a JSON object."""
    try:
        text = raw.decode("utf-8")
        record = {settings.text: text.rstrip("\r\n")} if format == ".txt" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(Errors.F473.format(reason=error)) from error
    if not isinstance(record, dict):
        raise ValueError(Errors.F473.format(reason=f"it is a {type(record).__name__} in JSON"))
    return record


def checked(id: str, text: object, settings: Settings) -> str:
    """The text. Raises ValueError if it isn't a string (F474), or if text or id aren't Unicode
    (F475)."""
    if not isinstance(text, str):
        found = "nothing" if text is None else f"no text but {text!r:.40} ({type(text).__name__})"
        raise ValueError(Errors.F474.format(key=settings.text, found=found))
    try:
        (text + id).encode()
    except UnicodeEncodeError as error:
        raise ValueError(Errors.F475) from error
    return text
