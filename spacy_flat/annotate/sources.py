"""Input files, their shards, and their rows."""

from __future__ import annotations

import io
import json
import os
import posixpath
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from ..errors import Errors, Warnings
from ..util.files import BYTE_ORDER_MARK
from ..util.plural import counted
from .settings import Settings

SUFFIXES = (".jsonl", ".ndjson", ".json", ".txt", ".parquet")
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # of files of lines only
CHUNK = 1 << 20  # bytes to read at once
CHUNK_ROWS = 4096  # of Parquet


def open_address(address: str) -> tuple[FileSystem, str]:
    """The filesystem and path of a local path or an address such as s3://bucket/folder.

    Raises ValueError (F477) for an address that pyarrow doesn't know.
    """
    if "://" not in address:
        # Keep links: the given name shows the format.
        return LocalFileSystem(), Path(os.path.abspath(address)).as_posix()
    try:
        fs, path = FileSystem.from_uri(address)
    except (ValueError, OSError, ImportError, NotImplementedError) as error:
        raise ValueError(Errors.F477.format(address=address, reason=error)) from error
    return fs, path


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
    number of rows before. rows: lines or records.
    """

    name: str
    file: File
    offset: int
    first: int
    rows: int


@dataclass(frozen=True)
class Row:
    """A row of the input. error: why it has no text, or "". id: given, or made of file and line."""

    id: str
    text: str
    error: str = ""


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
        infos = _walk(fs, root)
        if not infos and fs.get_file_info(root).type != FileType.Directory:
            raise FileNotFoundError(Errors.F001.format(path=address))
        for info in infos:
            if suffix_of(info.path) not in SUFFIXES:
                if info.path == root:
                    words = {"path": address, "suffixes": ", ".join(SUFFIXES)}
                    raise ValueError(Errors.F462.format(**words))
                unknown.append(info.path)
                continue
            start = root if info.path != root else posixpath.dirname(root)
            name = posixpath.relpath(info.path, start)
            file = File(address, info.path, name, info.size, info.mtime_ns or 0)
            found.setdefault((fs.type_name, info.path), file)
    if not found:
        words = {"paths": ", ".join(inputs), "suffixes": ", ".join(SUFFIXES)}
        raise ValueError(Errors.F466.format(**words))
    if unknown:
        words = {"count": counted(len(unknown), "file"), "names": ", ".join(unknown[:3])}
        warnings.warn(Warnings.W460.format(**words), stacklevel=2)
    count = Counter(file.name for file in found.values())
    return [
        file if count[file.name] == 1 else replace(file, name=file.path.lstrip("/"))
        for file in found.values()
    ]


def _walk(fs: FileSystem, path: str) -> list[FileInfo]:
    """A file, or the files in a folder and its subfolders, except names with a leading dot or
    underscore."""
    info = fs.get_file_info(path)
    if info.type != FileType.Directory:
        return [info] if info.type == FileType.File else []

    def is_hidden(name: str) -> bool:
        return any(part.startswith((".", "_")) for part in posixpath.relpath(name, path).split("/"))

    inside = fs.get_file_info(FileSelector(path, recursive=True))
    files = (each for each in inside if each.type == FileType.File and not is_hidden(each.path))
    return sorted(files, key=lambda each: each.path)


def suffix_of(path: str) -> str:
    """The suffix that tells the format; that of packed files of lines is before the packing's."""
    stem, suffix = posixpath.splitext(path.lower())
    inner = posixpath.splitext(stem)[1]
    return inner if suffix in PACKED and inner != ".parquet" else suffix


def cut(file: File, number: int, rows: int, settings: Settings) -> tuple[list[Shard], str]:
    """The shards of a file, `rows` lines or a row group of Parquet each, and the reason if it can't
    be read completely."""
    shards: list[Shard] = []
    places = (
        _row_groups(file, settings) if suffix_of(file.path) == ".parquet" else _lines(file, rows)
    )
    try:
        for place in places:
            shards.append(Shard(f"{number:05d}-{len(shards):05d}", file, *place))
    except Exception as error:  # of pyarrow, zlib
        return shards, str(error)
    return shards, ""


def _lines(file: File, rows: int) -> Iterator[tuple[int, int, int]]:
    """Offset, number of lines before, and lines of each shard, up to where reading fails."""
    offset = end = first = count = 0
    lines = read_lines(file)
    try:
        for line in lines:
            if count == rows:
                yield offset, first, count
                offset, first, count = end, first + count, 0
            end += len(line)
            count += 1
    finally:
        if count:
            yield offset, first, count


def _row_groups(file: File, settings: Settings) -> Iterator[tuple[int, int, int]]:
    """The number of each row group, of the rows before, and of its rows. Raises ValueError (F476)
    without a column of texts."""
    with _open_parquet(file) as table:
        columns = table.schema_arrow.names
        if settings.text not in columns:
            raise ValueError(Errors.F476.format(column=settings.text, columns=", ".join(columns)))
        first = 0
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            yield group, first, rows
            first += rows


def read_rows(shard: Shard, settings: Settings) -> Iterator[Row]:
    """The rows of a shard, without empty lines. Raises any error of the formats' libraries."""
    suffix = suffix_of(shard.file.path)
    records = _read_parquet(shard, settings) if suffix == ".parquet" else _read_raw(shard)
    for line, record in records:
        id = f"{shard.file.name}:{line}"
        try:
            if isinstance(record, bytes):
                record = parse_line(record, suffix != ".txt", settings)
            if record.get(settings.id) is not None:
                id = str(record[settings.id])
            yield Row(*_checked(id, record.get(settings.text), settings))
        except ValueError as error:
            yield Row(id.encode("utf-8", "replace").decode(), "", str(error))


def _checked(id: str, text: object, settings: Settings) -> tuple[str, str]:
    """Raises ValueError for a text that isn't a string (F474) or invalid Unicode (F475)."""
    if not isinstance(text, str):
        raise ValueError(Errors.F474.format(key=settings.text))
    try:
        (text + id).encode()
    except UnicodeEncodeError as error:
        raise ValueError(Errors.F475) from error
    return id, text


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


def _read_raw(shard: Shard) -> Iterator[tuple[int, bytes]]:
    """Number and content of a shard's non-empty lines."""
    lines = read_lines(shard.file, shard.offset, shard.first)
    for line, raw in enumerate(islice(lines, shard.rows), shard.first + 1):
        content = raw.removeprefix(BYTE_ORDER_MARK)  # concatenated files have marks within
        if content.strip():
            yield line, content


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


def _read_parquet(shard: Shard, settings: Settings) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Number and values of the rows of a row group."""
    line = shard.first
    with _open_parquet(shard.file) as table:
        columns = sorted({settings.text, settings.id} & set(table.schema_arrow.names))
        for batch in table.iter_batches(CHUNK_ROWS, row_groups=[shard.offset], columns=columns):
            yield from enumerate(batch.to_pylist(), line + 1)
            line += batch.num_rows


def _open_parquet(file: File) -> pq.ParquetFile:
    fs, path = file.open()
    return pq.ParquetFile(path, filesystem=fs)
