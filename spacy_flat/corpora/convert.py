"""A corpus file becomes a DocBin.

A task is a module with its `FORMATS`, and `detect_format`, which tells them by content.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from ..util.files import read_text_lines, replacing
from ..util.plural import counted
from ..util.srsly_registry import look_up_once
from . import ner, pairs, parallel, poems
from .repairs import Repairs
from .tables import ConvertOptions, CorpusFormat

# The `detect_format` of each returns the name of a format, or None if the file has none of its own.
TASKS = (ner, pairs, poems, parallel)
FORMATS: dict[str, CorpusFormat] = ner.FORMATS | pairs.FORMATS | poems.FORMATS | parallel.FORMATS

SHOWN = 3  # Docs of a sample
SHOWN_CHARACTERS = 60  # of each


@dataclass
class Summary:
    """What a converted file holds. `characters` are those of the texts.

    label: what `labels` counts, in the singular ("entity").
    sample: the first Docs on a line each.
    doc: what a Doc is, in the singular.
    left_out: Docs that stand in another part of the corpus, or twice.
    skipped: records without text, and those that annotators skipped, rejected or have not seen.
    shared: of the texts of each other part, how many this one has, and of how many.
    """

    label: str
    sentences: int = 0
    characters: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)
    sample: list[str] = field(default_factory=list)
    doc: str = "sentence"
    left_out: int = 0
    skipped: int = 0
    shared: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, doc: Doc, form: CorpusFormat) -> None:
        """Count a Doc of a format."""
        self.sentences += 1
        self.characters += len(doc.text)
        self.labels.update(form.count(doc))
        if len(self.sample) < SHOWN:
            self.sample.append(shortened(form.show(doc)))


def convert_file(source: Path, target: Path, options: ConvertOptions) -> Summary:
    """Convert a corpus file to a `.spacy` file, whose folder is made where it is missing.

    Raises ValueError (F004, F010, F102 to F119, F141 to F159, F170, F174, F420 to F431),
    IsADirectoryError (F002) where `target` is a folder; `target` is then left as it was.
    """
    for path in filter(None, (source, options.target)):
        check_paths(path, target)
    name = find_format(source, options)
    summary = Summary(FORMATS[name].label, doc=FORMATS[name].doc)
    docs = new_docs()
    for doc in read_file(source, name, options, summary):
        docs.add(doc)
    with replacing(target) as temporary:
        docs.to_disk(temporary)
    return summary


def new_docs() -> DocBin:
    look_up_once()
    return DocBin(attrs=["ENT_IOB", "ENT_TYPE"], store_user_data=True)


def read_file(path: Path, name: str, options: ConvertOptions, summary: Summary) -> Iterator[Doc]:
    """Yield the Docs of a file of the format `name`, and count them in `summary`.

    Raises ValueError as `convert_file`, at the end where there was no Doc (the first defect, or
    F010 without any) or where too much was repaired (F116).
    """
    repairs = Repairs(options.repair)
    for doc in FORMATS[name].read(path, options, repairs, Vocab()):
        summary.add(doc, FORMATS[name])
        yield doc
    if not summary.sentences:
        raise ValueError(repairs.first or Errors.F010.format(path=path, what="sentence"))
    summary.repairs = repairs.counts
    summary.skipped = repairs.n_skipped
    check_repairs(path, name, summary, repairs, options.max_repairs)


def shortened(line: str) -> str:
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


def check_paths(source: Path, target: Path) -> None:
    """Raises ValueError where `source` is converted already (F143), where both are one file, by
    links, too (F112), and if spaCy would ignore `target` because of its name (F142);
    IsADirectoryError if `target` is a folder (F002)."""
    if source.suffix == ".spacy":
        raise ValueError(Errors.F143.format(path=source))
    if target.is_dir():
        raise IsADirectoryError(Errors.F002.format(path=target))
    if target.exists() and source.exists() and os.path.samefile(source, target):
        raise ValueError(Errors.F112.format(source=source, target=target))
    if target.suffix != ".spacy":
        raise ValueError(Errors.F142.format(path=target))


def find_format(path: Path, options: ConvertOptions) -> str:
    """The name of the format of a file: the one asked for, or told by the file, or by there being
    a second one.

    Raises ValueError for an unknown name (F118), for options that the format does not take (F174),
    for a file without line feeds (F113), and as `detect_format`.
    """
    if options.format not in ("auto", *FORMATS):
        words = {"what": "format", "name": options.format, "names": f"auto, {', '.join(FORMATS)}"}
        raise ValueError(Errors.F118.format(**words))
    check_line_ends(path)
    name = options.format
    if name == "auto":
        name = "parallel" if options.target else detect_format(path)
    takes = {"format", "repair", "max_repairs", *FORMATS[name].takes}
    given = [f.name for f in fields(options) if getattr(options, f.name) != f.default]
    for option in given:
        if option not in takes:
            option = "--" + option.replace("_", "-")
            raise ValueError(Errors.F174.format(option=option, kind=f"the format {name}"))
    return name


def detect_format(path: Path) -> str:
    """Detect the format of a file by its content.

    Raises ValueError for a file without texts (F010), and if no format or several fit (F150).
    """
    if not any(text.strip() for _, text in read_text_lines(path)):
        raise ValueError(Errors.F010.format(path=path, what="sentence"))
    names: list[str] = [name for task in TASKS if (name := task.detect_format(path))]
    if len(names) != 1:
        found = " and ".join(names) or "none of the formats"
        raise ValueError(Errors.F150.format(path=path, found=found, names=", ".join(FORMATS)))
    return names[0]


def check_line_ends(path: Path) -> None:
    """Raise ValueError (F113) if lines end with carriage returns only, which makes the file one
    line."""
    _, first = next(read_text_lines(path), (1, ""))
    if "\r" in first.strip():
        raise ValueError(Errors.F113.format(path=path))


def check_repairs(path: Path, name: str, summary: Summary, repairs: Repairs, most: float) -> None:
    """Raises ValueError (F116) if a larger share than `most` of the lines or annotations was
    repaired: the file probably has another format."""
    n_labels = sum(summary.labels.values())
    for kinds, n_read, noun in (
        (repairs.lines, repairs.n_lines, "line"),
        (repairs.labels, n_labels, summary.label),
    ):
        n = sum(kinds.values())
        total = max(n, n_read)  # which doesn't include dropped entities
        if n > most * total:
            error = Errors.F116.format(
                path=path,
                n=n,
                total=counted(total, noun),
                done=", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common()),
                most=most,
                format=name,
                sample=" / ".join(summary.sample),
            )
            raise ValueError(error)
