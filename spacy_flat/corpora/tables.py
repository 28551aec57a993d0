"""What a row says in the tables of formats (`convert`) and of known corpora (`sources`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spacy.tokens import Doc
from spacy.vocab import Vocab

from .sentence import Repairs


@dataclass(frozen=True)
class ConvertOptions:
    """How to read a corpus file.

    format: a name in `FORMATS`, or "auto": told by the file.
    repair: repair and count defects where that is possible instead of raising.
    max_repairs: share of the lines or of the entities that may be repaired, from 0 to 1.
    words: units are words with a space between them, not characters (or words) written together.
    strip_prefix, strip_position: see `ColumnReader`.
    """

    format: str = "auto"
    repair: bool = False
    max_repairs: float = 0.05
    words: bool = False
    strip_prefix: str = ""
    strip_position: bool = False


@dataclass(frozen=True)
class Format:
    """A format of corpus files.

    read: yields the Docs of a file.
    count: how often a Doc has each label.
    show: a Doc with its annotation on one line.
    label: what is counted, in the singular.
    takes: options that have an effect on this format, beside `repair` and `max_repairs`.
    """

    read: Callable[[Path, ConvertOptions, Repairs, Vocab], Iterator[Doc]]
    count: Callable[[Doc], Mapping[str, int]]
    show: Callable[[Doc], str]
    label: str
    takes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceFile:
    """A file of a corpus. `url` is empty where no public file is this one, `sha256` where the file
    comes with the project."""

    name: str
    sha256: str = ""
    url: str = ""


@dataclass(frozen=True)
class Source:
    """A corpus. `files` are by part: train, dev, test.

    no_download: why its files have no URL.
    embedded: its folder is in this project's own folder, where commands are run.
    """

    lang: str
    folder: str
    homepage: str
    files: dict[str, SourceFile]
    options: ConvertOptions
    no_download: str = ""
    embedded: bool = False
