"""A corpus file becomes a DocBin."""

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
from .detect import detect_format
from .formats import ConvertOptions, CorpusFormat, Repairs

FORMATS: dict[str, CorpusFormat] = ner.FORMATS | pairs.FORMATS | poems.FORMATS | parallel.FORMATS

MAX_REPAIRS = 0.05  # share of the Docs or of the labels, whichever are more
SHOWN = 3  # Docs of a sample
SHOWN_CHARACTERS = 60  # of each


@dataclass
class Summary:
    """What a converted file holds. `characters` are those of the texts.

    label: what `labels` counts, in the singular ("entity").
    sample: the first Docs on a line each.
    doc: what a Doc is, in the singular.
    left_out: Docs that stand in another part of the corpus, or twice.
    skipped: records without text or label, and those that annotators skipped or rejected.
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
            line = form.show(doc)
            is_long = len(line) > SHOWN_CHARACTERS
            self.sample.append(f"{line[:SHOWN_CHARACTERS]}…" if is_long else line)


def convert_file(source: Path, target: Path, options: ConvertOptions) -> Summary:
    """Convert a corpus file to a `.spacy` file, whose folder is made where it is missing.

    Raises ValueError with the file and line of a defect, IsADirectoryError (F002) where `target` is
    a folder; `target` is then left as it was.
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

    Raises ValueError as `convert_file`, at the end where there was no Doc (F010) or more was
    repaired than `MAX_REPAIRS` (F116): the file probably has another format.
    """
    form, repairs = FORMATS[name], Repairs(options.repair)
    for doc in form.read(path, options, repairs, Vocab()):
        summary.add(doc, form)
        yield doc
    summary.repairs, summary.skipped = repairs.counts, repairs.n_skipped
    n, n_labels = repairs.counts.total(), summary.labels.total()
    total, noun = max((summary.sentences, form.doc), (n_labels, form.label))
    if n > MAX_REPAIRS * total:
        done = ", ".join(f"{kind} {count:,}" for kind, count in repairs.counts.most_common())
        words = {"n": n, "total": counted(total, noun), "done": done, "most": MAX_REPAIRS}
        sample = " / ".join(summary.sample)
        raise ValueError(Errors.F116.format(path=path, format=name, sample=sample, **words))
    if not summary.sentences:
        raise ValueError(Errors.F010.format(path=path, what="sentence"))


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
    """The name of the format of a file: the one asked for, or the detected one.

    Raises ValueError for an unknown name (F118), for options that the format does not take (F174),
    for a file without line feeds (F113), and as `detect_format`.
    """
    name = options.format
    if name not in ("auto", *FORMATS):
        words = {"what": "format", "name": name, "names": f"auto, {', '.join(FORMATS)}"}
        raise ValueError(Errors.F118.format(**words))
    _, first = next(read_text_lines(path), (1, ""))
    if "\r" in first.strip():  # the whole file is one line
        raise ValueError(Errors.F113.format(path=path))
    if name == "auto":
        name = "parallel" if options.target else detect_format(path, FORMATS)
    takes = {"format", "repair", *FORMATS[name].takes}
    for option in fields(options):
        if getattr(options, option.name) != option.default and option.name not in takes:
            flag = "--" + option.name.replace("_", "-")
            raise ValueError(Errors.F174.format(option=flag, kind=f"the format {name}"))
    return name
