"""What all formats of corpus files share: their description, options, and defects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spacy.tokens import Doc
from spacy.vocab import Vocab


@dataclass(frozen=True)
class ConvertOptions:
    """How to read a corpus file.

    format: a name in `FORMATS`, or "auto" to detect it.
    repair: read defects of the annotation in the usual way, or as unknown, instead of raising.
    words: units are words, joined by spaces, not characters (or words) written together.
    strip_prefix, strip_position: see `read_columns`.
    scores: the labels of pairs are similarity scores.
    target: the file with the translation of each line.
    coarse: what labels of entities stand for, as "ORG=ORG,COMPANY"; "EDU=" drops its entities.
    longest: maximum length of the entities of a label in characters, as "address=4"; longer ones
        become missing annotation.
    unannotated: labels that the file doesn't annotate.
    """

    format: str = "auto"
    repair: bool = False
    words: bool = False
    strip_prefix: str = ""
    strip_position: bool = False
    scores: bool = False
    target: Path | None = None
    coarse: Sequence[str] = ()
    longest: Sequence[str] = ()
    unannotated: Sequence[str] = ()


@dataclass
class Repairs:
    """Counts of repaired defects by kind, and of skipped records, which nobody annotated."""

    enabled: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    n_skipped: int = 0

    def count(self, kind: str, error: str) -> None:
        """Count a defect that the caller then repairs.

        Raises ValueError with the text `error` unless repairs are enabled.
        """
        if not self.enabled:
            raise ValueError(error)
        self.counts[kind] += 1


@dataclass(frozen=True)
class CorpusFormat:
    """A format of corpus files.

    read: yields the Docs of a file.
    example: the beginning of a file, for errors.
    count: how often a Doc has each label.
    show: a Doc with its annotation on one line.
    label, doc: what to count and what a Doc is, in the singular.
    takes: options for this format, besides `repair`.
    key: equal for two Docs that are the same example, whatever their annotation.
    texts: of a Doc with several; those that share one stay in one part of a corpus.
    """

    read: Callable[[Path, ConvertOptions, Repairs, Vocab], Iterator[Doc]]
    example: str
    count: Callable[[Doc], Mapping[str, int]]
    show: Callable[[Doc], str]
    label: str
    doc: str = "sentence"
    takes: tuple[str, ...] = ()
    key: Callable[[Doc], Hashable] = lambda doc: doc.text
    texts: Callable[[Doc], Sequence[str]] | None = None
