"""Corpora of pairs of texts: tables with TABs, commas or semicolons, and JSON.

A table has two texts and a label on each line, optionally after a number. If its first line names
the columns, they can be in any order among others:

    sentence1,sentence2,label
    运费怎么算,邮费是多少,1

JSON has an object for each pair, one per line or all of them in one array. A pair becomes one Doc,
as `similarity.pairs` says, with all labels of its file in `doc.cats`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors
from ..similarity.pairs import DIFFERENT, SAME, SEPARATOR, SIMILARITY, join_pair, mark_pair, pair_of
from ..util.files import read_text_lines
from .cells import SAMPLE, Rows, csv_lines, require_columns, tab_lines
from .docs import make_doc
from .formats import ConvertOptions, CorpusFormat, Summary
from .records import Line, check_characters, parsed_records

# Names of the two texts and the label, in any case.
TEXTS = (
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("question1", "question2"),
    ("query1", "query2"),
    ("sentence_a", "sentence_b"),
    ("text_a", "text_b"),
    ("premise", "hypothesis"),
)
LABELS = ("gold_label", "label", "is_duplicate", "score", "similarity")
MANY = 20  # minimum pairs for which labels must repeat
UNLABELLED = ("", "-")  # "-" in SNLI if annotators disagree
CLASSES = {
    **dict.fromkeys(("0", "0.0", "否", "错", "no", "false"), DIFFERENT),
    **dict.fromkeys(("1", "1.0", "是", "对", "yes", "true"), SAME),
}
LAYOUT = '{"sentence1": "…", "sentence2": "…", "label": …}'

T = TypeVar("T")
Cells = Iterator[tuple[Line, Sequence[str]]]  # line, and two texts and a label
RawPair = tuple[Line, str, str, str]  # the same


def read_pairs(
    path: Path, options: ConvertOptions, summary: Summary, cut: Callable[[Path], Cells]
) -> Iterator[Doc]:
    """Yield the Docs of a file that `cut` splits into texts and labels. Raises ValueError as
    `raw_pairs` and `categories`."""
    rows = list(raw_pairs(path, cut(path)))
    labelled = [row for row in rows if row[-1] not in UNLABELLED]
    summary.skipped += len(rows) - len(labelled)
    lines = {label: line for line, _, _, label in reversed(labelled)}  # the first of each
    cats = categories(path, lines, Counter(row[-1] for row in labelled), options.scores)
    vocab = Vocab()
    for _, left, right, label in labelled:
        doc = make_doc(vocab, join_pair(left, right))
        pair = pair_of(doc)
        assert pair is not None  # the separator is between them
        mark_pair(doc, pair)
        doc.cats = cats[label]
        yield doc


def raw_pairs(path: Path, cells: Cells) -> Iterator[RawPair]:
    """The pairs of cells. Raises ValueError (F153) for an empty text or one with U+001F."""
    for line, found in cells:
        texts = [text.replace("\ufeff", "") for text in found]
        for side, text in zip(("left text", "right text"), texts, strict=False):
            problem = "is empty" if not text.strip() else ""
            if SEPARATOR in text:  # stripped as white space
                problem = "contains U+001F, which separates the two texts of a pair"
            if problem:
                error = Errors.F153.format(path=path, line=line, side=side, problem=problem)
                raise ValueError(error)
        left, right, label = map(str.strip, texts)
        yield line, left, right, label


def categories(
    path: Path, lines: Mapping[str, Line], counts: Counter[str], scores: bool
) -> dict[str, dict[str, float]]:
    """The `doc.cats` of each label of a file. Raises ValueError for labels that look like something
    else (F155, F157, F159), and scores that aren't numbers (F151).

    lines, counts: of each label, in the order in which they occur.
    """
    numbers = {label for label in lines if is_number(label)}
    others = [label for label in lines if label not in numbers]
    if scores:
        for label in others:
            words = {"found": repr(label), "wanted": "a number"}
            raise ValueError(Errors.F151.format(path=path, line=lines[label], **words))
        return {label: {SIMILARITY: float(label)} for label in lines}
    first = next(iter(counts), "")
    if numbers and others == [first] and counts[first] == 1:
        raise ValueError(Errors.F155.format(path=path, line=lines[first], found=first))
    if counts.total() >= MANY and len(counts) > counts.total() / 2:
        raise ValueError(Errors.F159.format(path=path, labels=len(counts), pairs=counts.total()))
    for label in () if others else numbers:
        if not float(label).is_integer():
            raise ValueError(Errors.F157.format(path=path, line=lines[label], found=label))
    names = {label: CLASSES.get(label.casefold(), "") for label in lines}
    classes = [DIFFERENT, SAME]
    if not all(names.values()):
        classes = sorted(lines)
        names = {label: label for label in classes}
    return {label: {each: float(each == names[label]) for each in classes} for label in lines}


def label_of(doc: Doc) -> str:
    """The label that holds, or "similarity" for a score."""
    return max(doc.cats, key=lambda label: doc.cats[label])


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# Tables


def table_cells(path: Path, lines_of: Callable[[Path], Rows]) -> Cells:
    """Texts and label of each line, in the columns named in the first line. Raises ValueError
    (F151, F152)."""
    columns: Sequence[int] | None = None
    size = 0
    for line, cells in lines_of(path):
        if columns is None:
            header = named_columns(cells)
            columns, size = header or unnamed_columns(cells), len(cells)
            require_columns(path, line, cells, columns is not None, "two texts and a label")
            if header:
                continue
        require_columns(path, line, cells, len(cells) == size, f"{size} as before")
        yield line, [cells[number] for number in columns or ()]


def named_columns(cells: Sequence[str]) -> Sequence[int] | None:
    """The columns of the texts and the label, if a line is a header that names all three."""
    return named({cell: number for number, cell in enumerate(cells)})


def unnamed_columns(cells: Sequence[str]) -> Sequence[int] | None:
    """Those of a table without a header."""
    has_number = len(cells) == 4 and is_number(cells[0].replace("\ufeff", ""))
    return (1, 2, 3) if has_number else (0, 1, 2) if len(cells) == 3 else None


def named(values: Mapping[str, T]) -> tuple[T, T, T] | None:
    """Those of the two texts and the label by their usual names, or None if one is missing."""
    known = {name.replace("\ufeff", "").strip().casefold(): each for name, each in values.items()}
    texts = next((both for both in TEXTS if known.keys() >= set(both)), None)
    label = next((name for name in LABELS if name in known), None)
    if texts is None or label is None:
        return None
    return known[texts[0]], known[texts[1]], known[label]


def detect_table(path: Path) -> str | None:
    """The format of a table whose first line names the columns of pairs."""
    first = next((text for _, text in read_text_lines(path) if text.strip()), "")
    name, lines_of = ("pairs-tsv", tab_lines) if "\t" in first else ("pairs-csv", csv_lines)
    try:
        rows = [cells for _, cells in islice(lines_of(path), SAMPLE)]
    except ValueError:
        return None
    fits = rows and named_columns(rows[0]) and len({len(cells) for cells in rows}) == 1
    return name if fits else None


# JSON


def record_cells(path: Path) -> Cells:
    return parsed_records(path, parse_record, LAYOUT)


def parse_record(record: Any) -> list[str]:
    """Texts and label of an object. Raises ValueError that says what is wrong with it."""
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    found = named(record)
    if found is None:
        raise ValueError("it has no two texts and a label under the usual names")
    left, right, label = found
    if not isinstance(left, str) or not isinstance(right, str):
        raise ValueError("its texts are not strings")
    if not isinstance(label, str | int | float | None):
        raise ValueError("its label is neither a string nor a number")
    check_characters(left, right, str(label))
    return [left, right, "" if label is None else str(label)]


_of_pairs = partial(
    CorpusFormat,
    noun="pair",
    label="pair",
    labels=lambda doc: [label_of(doc)],
    takes=("scores",),
)
_tsv, _csv = (partial(table_cells, lines_of=lines_of) for lines_of in (tab_lines, csv_lines))
FORMATS: dict[str, CorpusFormat] = {
    "pairs-tsv": _of_pairs(partial(read_pairs, cut=_tsv), "运费怎么算⇥邮费是多少⇥1"),
    "pairs-csv": _of_pairs(partial(read_pairs, cut=_csv), "运费怎么算,邮费是多少,1"),
    "pairs-jsonl": _of_pairs(
        partial(read_pairs, cut=record_cells),
        '{"sentence1": "运费怎么算", "sentence2": "邮费是多少", "label": 1}',
    ),
}
