"""A corpus file becomes a DocBin."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

from ..errors import Errors
from ..util.files import replacing
from . import entities, pairs, poems
from .columns import PREFIXES, column_lines, schemes_of
from .docs import new_docs
from .formats import ConvertOptions, CorpusFormat, Summary
from .offsets import EXAMPLES, parse
from .records import Line, has_records, read_records
from .tools import gliner_spans, has_natures, is_conllu, tokens_of, uie_prompt

FORMATS: dict[str, CorpusFormat] = entities.FORMATS | pairs.FORMATS | poems.FORMATS
RECORDS: dict[str, Callable[[Any], object]] = {
    "tokens": tokens_of,
    "gliner": gliner_spans,
    "uie": uie_prompt,
    "poems-jsonl": poems.lines_of,
}
SAMPLE = 1000  # lines by which a format is detected

Fit = tuple[str, int]  # a format, and a number of columns


def convert_file(source: Path, target: Path, options: ConvertOptions) -> Summary:
    """Convert a corpus file to a `.spacy` file, whose folder is made where it is missing.

    Raises ValueError with the file and line of a defect, and if spaCy would ignore `target` because
    of its name (F142); `target` is then left as it was.
    """
    if target.suffix != ".spacy":
        raise ValueError(Errors.F142.format(path=target))
    summary, found = read_corpus(source, options)
    docs = new_docs()
    for doc in found:
        docs.add(doc)
    with replacing(target) as temporary:
        docs.to_disk(temporary)
    return summary


def read_corpus(path: Path, options: ConvertOptions) -> tuple[Summary, Iterator[Doc]]:
    """The Docs of a file, and counts that grow while the Docs are read. Raises ValueError as
    `convert_file`, and F010 for a file without Docs."""
    form = FORMATS[find_format(path, options)]
    summary = Summary(options.repair)

    def read() -> Iterator[Doc]:
        for doc in form.read(path, options, summary):
            summary.add(doc)
            yield doc
        if not summary.docs:
            raise ValueError(Errors.F010.format(path=path, what="sentence"))

    return summary, read()


def find_format(path: Path, options: ConvertOptions) -> str:
    """The name of the format of a file: the one asked for, or the detected one.

    Raises ValueError for an unknown name (F118), for options that the format does not take (F174),
    and as `detect_format`.
    """
    name = options.format
    if name == "auto":
        name = detect_format(path, options)
    elif name not in FORMATS:
        names = f"auto, {', '.join(FORMATS)}"
        raise ValueError(Errors.F118.format(what="format", name=name, names=names))
    takes = {"format", "repair", *FORMATS[name].takes}
    for option in fields(options):
        if getattr(options, option.name) != option.default and option.name not in takes:
            flag = "--" + option.name.replace("_", "-")
            raise ValueError(Errors.F174.format(option=flag, path=path))
    return name


def detect_format(path: Path, options: ConvertOptions) -> str:
    """The format of a file by the keys of its first JSON record, or by tags in columns, where only
    one fits all of the first lines; a folder is brat's. Others have to be named.

    Raises ValueError for a file without text (F010), for broken JSON (F119, F156), and for the
    first line with which no format fits, or several (F150).
    """
    if path.is_dir():
        return "brat"
    is_json = has_records(path)
    items: Iterable[tuple[Line, Any]] = read_records(path) if is_json else column_lines(path)
    fitting = formats_of if is_json else formats_of_line
    found: set[Fit] = set()
    # The reader says more exactly what is wrong with other records.
    n_items = 1 if is_json else SAMPLE
    for line, item in islice(((line, item) for line, item in items if item), n_items):
        fits = fitting(item, options)
        if not (fits & found if found else fits):
            names = " or ".join(sorted(name for name, _ in found))
            wanted = f"the format {names} of the lines before it" if names else "any format"
            shown = json.dumps(item, ensure_ascii=False) if is_json else item
            problem = f"line {line}, {shown[:50]!r}, doesn't fit {wanted}"
            key = "; --text names another key of texts" * is_json
            examples = "" if names else f". Each starts like this (⇥: TAB, ⏎: line end{key}):"
            for name, form in FORMATS.items() if examples else ():
                if is_json == form.example.startswith(("[", '{"')):
                    examples += f"\n{name:>13}: {form.example}"
            raise ValueError(Errors.F150.format(path=path, problem=problem, examples=examples))
        found = fits & found or fits
    if not found:
        raise ValueError(Errors.F010.format(path=path, what="sentence"))
    several = sorted({name for name, _ in found}, key=[*FORMATS].index)
    # Schemes differ by their tags; one reader tells layouts of entities apart.
    if len(several) > 1 and not any(one.keys() >= {*several} for one in (PREFIXES, EXAMPLES)):
        problem = f"it could be {' or '.join(several)}"
        raise ValueError(Errors.F150.format(path=path, problem=problem, examples=""))
    return several[0]


def formats_of(record: Any, options: ConvertOptions) -> set[Fit]:
    """The formats that a JSON record fits."""
    found: set[Fit] = set()
    for name, fits in (RECORDS | dict.fromkeys(EXAMPLES, partial(parse, key=options.text))).items():
        with suppress(ValueError):
            fits(record)
            found.add((name, 0))
    return found


def formats_of_line(text: str, options: ConvertOptions) -> set[Fit]:
    """The formats that a line fits."""
    if is_conllu(text):
        return {("conllu", 0)}
    return schemes_of(text, options.columns) | ({("natures", 0)} if has_natures(text) else set())
