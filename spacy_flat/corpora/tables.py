"""The rows of the tables of formats (`convert`) and of known corpora (`sources`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spacy.tokens import Doc
from spacy.vocab import Vocab

from .repairs import Repairs


@dataclass(frozen=True)
class ConvertOptions:
    """How to read a corpus file.

    format: a name in `FORMATS`, or "auto" to detect it.
    repair: repair and count defects where that is possible instead of raising.
    max_repairs: share of the lines or of the entities that may be repaired, from 0 to 1.
    words: units are words with a space between them, not characters (or words) written together.
    strip_prefix, strip_position: see `ColumnReader`.
    scores: the labels of pairs are similarity scores.
    target: the file with the translation of each line.
    max_length: characters of a text or its translation, beyond which a pair is a defect.
    coarse: what labels of entities stand for, as "ORG=ORG,COMPANY"; "EDU=" drops its entities.
    longest: characters of the longest entities of a label to keep, as "address=4"; what longer ones
        cover has no annotation then.
    unannotated: labels that the file doesn't annotate.
    """

    format: str = "auto"
    repair: bool = False
    max_repairs: float = 0.05
    words: bool = False
    strip_prefix: str = ""
    strip_position: bool = False
    scores: bool = False
    target: Path | None = None
    max_length: int = 1000
    coarse: Sequence[str] = ()
    longest: Sequence[str] = ()
    unannotated: Sequence[str] = ()


@dataclass(frozen=True)
class CorpusFormat:
    """A format of corpus files.

    read: yields the Docs of a file.
    count: how often a Doc has each label.
    show: a Doc with its annotation on one line.
    label: what to count, in the singular.
    takes: options for this format, besides `repair` and `max_repairs`.
    doc: what a Doc is, in the singular.
    key: equal for two Docs that are the same example, whatever their annotation.
    texts: of a Doc with several; those that share one stay in one part of a corpus.
    """

    read: Callable[[Path, ConvertOptions, Repairs, Vocab], Iterator[Doc]]
    count: Callable[[Doc], Mapping[str, int]]
    show: Callable[[Doc], str]
    label: str
    takes: tuple[str, ...] = ()
    doc: str = "sentence"
    key: Callable[[Doc], Hashable] = lambda doc: doc.text
    texts: Callable[[Doc], Sequence[str]] | None = None
