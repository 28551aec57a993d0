"""A corpus file becomes a DocBin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

from ..errors import Errors
from ..util.files import read_text_lines, replacing
from ..util.messages import counted
from . import entities, pairs, parallel, poems
from .cells import SAMPLE
from .columns import detect_scheme
from .docs import new_docs
from .formats import ConvertOptions, CorpusFormat, Summary
from .offsets import layout_of
from .records import has_records, read_records

FORMATS: dict[str, CorpusFormat] = (
    entities.FORMATS | pairs.FORMATS | poems.FORMATS | parallel.FORMATS
)

MAX_REPAIRS = 0.05  # share of the Docs or of the labels, whichever are more


def convert_file(source: Path, target: Path, options: ConvertOptions) -> Summary:
    """Convert a corpus file to a `.spacy` file, whose folder is made where it is missing.

    Raises ValueError with the file and line of a defect, for a source that is converted already
    (F143), and if spaCy would ignore `target` because of its name (F142); `target` is then left as
    it was.
    """
    if source.suffix == ".spacy":
        raise ValueError(Errors.F143.format(path=source))
    if target.suffix != ".spacy":
        raise ValueError(Errors.F142.format(path=target))
    name = find_format(source, options)
    summary = Summary(FORMATS[name], options.repair)
    docs = new_docs()
    for doc in read_file(source, name, options, summary):
        docs.add(doc)
    with replacing(target) as temporary:
        docs.to_disk(temporary)
    return summary


def read_file(path: Path, name: str, options: ConvertOptions, summary: Summary) -> Iterator[Doc]:
    """Yield the Docs of a file of the format `name`, and count them in `summary`.

    Raises ValueError as `convert_file`, at the end where there was no Doc (F010) or more was
    repaired than `MAX_REPAIRS` (F116): the file probably has another format.
    """
    for doc in FORMATS[name].read(path, options, summary):
        summary.add(doc)
        yield doc
    if not summary.docs:
        raise ValueError(Errors.F010.format(path=path, what="sentence"))
    n, n_labels = summary.repairs.total(), summary.labels.total()
    total, noun = max((summary.docs, summary.form.noun), (n_labels, summary.form.label))
    if n > MAX_REPAIRS * total:
        done = ", ".join(f"{kind} {count:,}" for kind, count in summary.repairs.most_common())
        words = {"n": n, "total": counted(total, noun), "done": done, "most": MAX_REPAIRS}
        raise ValueError(Errors.F116.format(path=path, format=name, **words))


def find_format(path: Path, options: ConvertOptions) -> str:
    """The name of the format of a file: the one asked for, or the detected one.

    Raises ValueError for an unknown name (F118), for options that the format does not take (F174),
    for a file without line feeds (F113), and as `detect_format`.
    """
    name = options.format
    if "\r" in next((text for _, text in read_text_lines(path)), ""):
        raise ValueError(Errors.F113.format(path=path))
    if name == "auto":
        name = "parallel" if options.target else detect_format(path)
    elif name not in FORMATS:
        names = f"auto, {', '.join(FORMATS)}"
        raise ValueError(Errors.F118.format(what="format", name=name, names=names))
    takes = {"format", "repair", *FORMATS[name].takes}
    for option in fields(options):
        if getattr(options, option.name) != option.default and option.name not in takes:
            flag = "--" + option.name.replace("_", "-")
            raise ValueError(Errors.F174.format(option=flag, kind=f"the format {name}"))
    return name


def detect_format(path: Path) -> str:
    """The format of a file by the keys of JSON, by tags in columns, or by the header of a table of
    pairs, where only one fits every line read. Others have to be named.

    Raises ValueError for a file without text (F010), for broken JSON (F119, F156), and unless
    exactly one format fits all of the first lines (F150).
    """
    if not any(text.strip() for _, text in read_text_lines(path)):
        raise ValueError(Errors.F010.format(path=path, what="sentence"))
    fitting = {name for name in (detect_scheme(path), pairs.detect_table(path)) if name}
    if not fitting and has_records(path):
        found = [formats_of(record) for _, record in islice(read_records(path), SAMPLE)]
        fitting = set.intersection(*found)
    if len(fitting) != 1:
        words = {
            "found": " and ".join(sorted(fitting)) or "no format",
            "formats": "".join(f"\n{name:>13}: {form.example}" for name, form in FORMATS.items()),
        }
        raise ValueError(Errors.F150.format(path=path, **words))
    return fitting.pop()


def formats_of(record: Any) -> set[str]:
    """The formats that a JSON record fits."""
    fitting = set()
    with suppress(ValueError):
        fitting.add(layout_of(record))
    for name, parse in (("pairs-jsonl", pairs.parse_record), ("poems-jsonl", poems.lines_of)):
        with suppress(ValueError):
            parse(record)
            fitting.add(name)
    return fitting
