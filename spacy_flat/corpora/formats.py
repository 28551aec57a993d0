"""What all formats of corpus files share: their description, options, and counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spacy.tokens import Doc


@dataclass(frozen=True)
class ConvertOptions:
    """How to read a corpus file.

    format: a name in `FORMATS`, or "auto" to detect it.
    repair: read defects of the annotation in the usual way, or as unknown, instead of raising.
    words: units are words, joined by spaces, not characters (or words) written together.
    columns: of the unit and the tag, as numbers from 1; of a table, of the sentence, too.
    tags: names of tags that the file has as numbers, from 0.
    text: key of the texts in JSON.
    scores: the labels of pairs are similarity scores.
    coarse: what labels of entities stand for, as "ORG=ORG,COMPANY"; "EDU=" drops its entities.
    unannotated: labels that the file doesn't annotate.
    """

    format: str = "auto"
    repair: bool = False
    words: bool = False
    columns: Sequence[str] = ()
    tags: Sequence[str] = ()
    text: str = "text"
    scores: bool = False
    coarse: Sequence[str] = ()
    unannotated: Sequence[str] = ()


@dataclass(frozen=True)
class CorpusFormat:
    """A format of corpus files.

    read: yields the Docs of a file.
    example: the beginning of a file, for errors.
    takes: options for this format, besides `format` and `repair`.
    """

    read: Callable[[Path, ConvertOptions, Summary], Iterator[Doc]]
    example: str
    takes: tuple[str, ...] = ()


@dataclass
class Summary:
    """Counts of what is read.

    characters: of the texts.
    labels: of entities, or that hold for a pair.
    names: the different entities of each label.
    without: texts without an entity.
    skipped: records without text or label, and those that annotators skipped or rejected.
    repairs: by kind.
    """

    repair: bool = False
    docs: int = 0
    characters: int = 0
    skipped: int = 0
    without: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    names: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    repairs: Counter[str] = field(default_factory=Counter)

    def add(self, doc: Doc) -> None:
        """Count a Doc."""
        self.docs += 1
        self.characters += len(doc.text)
        self.without += not doc.ents
        for ent in doc.ents:
            self.labels[ent.label_] += 1
            self.names[ent.label_].add(ent.text)
        if doc.cats:
            self.labels[max(doc.cats, key=lambda label: doc.cats[label])] += 1

    def count_repair(self, kind: str, error: str) -> None:
        """Count a defect that the caller then repairs.

        Raises ValueError with the text `error` unless repairs are enabled.
        """
        if not self.repair:
            raise ValueError(error)
        self.repairs[kind] += 1
