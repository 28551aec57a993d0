"""Getting the files of a known corpus, verified by SHA-256.

weasel's assets wouldn't work: a wrong checksum doesn't stop a run there.
"""

from __future__ import annotations

import hashlib
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO
from urllib.error import URLError

from ..errors import Errors
from ..util.files import replacing
from .msra import split_archive
from .sources import CorpusFile, CorpusSource, get_source

CHUNK = 1 << 20  # bytes read at a time
TIMEOUT = 60  # seconds without an answer


def fetch_corpus(name: str, out_dir: Path, local_dir: Path | None = None) -> list[Path]:
    """Put the files of a corpus into `out_dir/name` and return their paths.

    They come from `local_dir` (laid out as in `sources`) or, without it, from their public
    addresses. Existing files with the right checksum are kept.

    Raises ValueError (F118 to F125).
    """
    source = get_source(name)
    if source.embedded:
        local_dir = Path()
    elif local_dir is not None and not local_dir.is_dir():
        advice = "Name a folder with the corpora as --source, or leave it out to download them."
        raise ValueError(Errors.F121.format(path=local_dir, advice=advice))
    folder = out_dir / name
    paths = {folder / file.name: file for file in source.files.values()}
    missing = {path: file for path, file in paths.items() if not _is_right(path, file)}
    with ExitStack() as stack:
        if missing and source.archive and not _has_parts(source, local_dir):
            cut = Path(stack.enter_context(TemporaryDirectory()))
            _split_archive(name, source, source.archive, cut, local_dir)
            local_dir = cut
        for path, file in missing.items():
            _fetch_file(name, source, file, path, local_dir)
    return list(paths)


def corpus_files(name: str, data_dir: Path) -> dict[str, Path]:
    """Return the fetched files of a corpus by their names in `CorpusSource.files`.

    Raises ValueError (F118; F121 where one is missing).
    """
    files = {key: data_dir / name / file.name for key, file in get_source(name).files.items()}
    for path in files.values():
        if not path.is_file():
            advice = f"Get it first: python -m spacy flat fetch {name} {data_dir}"
            raise ValueError(Errors.F121.format(path=path, advice=advice))
    return files


def _is_right(path: Path, file: CorpusFile) -> bool:
    return bool(file.sha256) and path.is_file() and _sha256(path) == file.sha256


def _has_parts(source: CorpusSource, local_dir: Path | None) -> bool:
    if local_dir is None:
        return False
    return any((local_dir / source.folder / file.name).is_file() for file in source.files.values())


def _split_archive(
    name: str, source: CorpusSource, archive: CorpusFile, out_dir: Path, local_dir: Path | None
) -> None:
    """Cut the parts of a corpus out of its archive, into a folder laid out as a local one."""
    folder = out_dir / source.folder
    path = folder / archive.name
    _fetch_file(name, source, archive, path, local_dir)
    try:
        parts = split_archive(path)
    except ValueError as error:
        words = {"path": archive.name, "reason": error, "homepage": source.homepage}
        raise ValueError(Errors.F125.format(**words)) from None
    for part, data in parts.items():
        (folder / source.files[part].name).write_bytes(data)


def _fetch_file(
    name: str, source: CorpusSource, file: CorpusFile, target: Path, local_dir: Path | None
) -> None:
    opened: AbstractContextManager[BinaryIO]
    if local_dir is None:
        opened = _open_url(name, source, file)
    else:
        opened = _open_local(source, local_dir / source.folder / file.name)
    with opened as stream, replacing(target) as temporary:
        with temporary.open("wb") as out:
            shutil.copyfileobj(stream, out)
        if file.sha256 and (found := _sha256(temporary)) != file.sha256:
            words = {"path": target, "found": found, "expected": file.sha256}
            raise ValueError(Errors.F122.format(**words, homepage=source.homepage))


def _open_local(source: CorpusSource, path: Path) -> BinaryIO:
    if path.is_file():
        return path.open("rb")
    advice = f"Get it from {source.homepage}, or correct --source."
    if source.embedded:
        advice = "It comes with the project: run the command in the project's folder."
    raise ValueError(Errors.F121.format(path=path, advice=advice))


@contextmanager
def _open_url(name: str, source: CorpusSource, file: CorpusFile) -> Iterator[BinaryIO]:
    where = {"homepage": source.homepage, "folder": source.folder, "file": file.name}
    if not file.url:
        raise ValueError(Errors.F124.format(name=name, reason=source.no_download, **where))
    try:
        with urllib.request.urlopen(file.url, timeout=TIMEOUT) as stream:
            yield stream
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        raise ValueError(Errors.F123.format(url=file.url, reason=error, **where)) from None


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for chunk in iter(lambda: stream.read(CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()
