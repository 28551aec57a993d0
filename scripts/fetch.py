"""Get the files of published corpora, verified by SHA-256:

    python scripts/fetch.py resume weibo --source ../corpora

They are downloaded to data/<corpus>, or copied from a local folder. weasel's assets wouldn't work:
a wrong checksum doesn't stop a run there.
"""

import argparse
import hashlib
import shutil
import sys
import urllib.request
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO
from urllib.error import URLError

from msra import split_archive
from published import CORPORA, GROUPS, Corpus, CorpusFile, members

TIMEOUT = 60  # seconds without an answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", choices=[*CORPORA, *GROUPS], metavar="CORPUS")
    parser.add_argument("--data", type=Path, default="data", help="folder to write to")
    parser.add_argument("--source", default="", help="local folder of corpora; empty: download")
    arguments = parser.parse_args()
    source = Path(arguments.source) if arguments.source else None
    for name in (each for corpus in arguments.corpora for each in members(corpus)):
        try:
            for path in fetch_corpus(name, arguments.data, source):
                print(path)
        except (OSError, ValueError) as error:
            sys.exit(str(error))


def fetch_corpus(name: str, data: Path, local: Path | None = None) -> list[Path]:
    """Put the files of a corpus into `data/name`, from `local` or, without it, from their public
    addresses. Existing files with the right checksum are kept. Returns their paths.

    Raises ValueError if a file is missing, damaged, or can't be downloaded.
    """
    corpus = CORPORA[name]
    if corpus.embedded:
        local = Path()
    paths = {data / name / file.name: file for file in corpus.files.values()}
    missing = {
        path: file
        for path, file in paths.items()
        if not (file.sha256 and path.is_file() and checksum(path) == file.sha256)
    }
    folder = None if local is None else local / corpus.folder
    has_parts = folder and any((folder / file.name).is_file() for file in corpus.files.values())
    with TemporaryDirectory() as temporary:
        if missing and corpus.archive and not has_parts:
            archive = Path(temporary) / corpus.folder / corpus.archive.name
            fetch_file(corpus, corpus.archive, archive, local)
            for part, content in split_archive(archive).items():
                archive.with_name(corpus.files[part].name).write_bytes(content)
            local = Path(temporary)
        for path, file in missing.items():
            fetch_file(corpus, file, path, local)
    return list(paths)


def fetch_file(corpus: Corpus, file: CorpusFile, target: Path, local: Path | None) -> None:
    """Write a file whole and verified, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    try:
        with opened(corpus, file, local) as stream, partial.open("wb") as out:
            shutil.copyfileobj(stream, out)
        if file.sha256 and (found := checksum(partial)) != file.sha256:
            raise ValueError(
                f"{target}: the SHA-256 checksum is {found}, expected {file.sha256}. The file is "
                f"incomplete or another version. Get it again from {corpus.homepage}."
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def opened(corpus: Corpus, file: CorpusFile, local: Path | None) -> IO[bytes]:
    """A file of a local folder, or of its address."""
    if local is not None:
        path = local / corpus.folder / file.name
        if path.is_file():
            return path.open("rb")
        advice = f"Get it from {corpus.homepage}, or correct --source."
        if corpus.embedded:
            advice = "It comes with the project: run this in the project's folder."
        raise ValueError(f"{path} does not exist. {advice}")
    advice = (
        f"Get it from {corpus.homepage}, put it into DIR as DIR/{corpus.folder}/{file.name}, and "
        "use --source DIR."
    )
    if not file.url:
        raise ValueError(f"{file.name} can't be downloaded: {corpus.no_download} {advice}")
    try:
        stream: IO[bytes] = urllib.request.urlopen(file.url, timeout=TIMEOUT)
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        raise ValueError(f"Can't download {file.url}: {error}. {advice}") from None
    return stream


def checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


if __name__ == "__main__":
    main()
