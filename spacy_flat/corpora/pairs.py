"""Corpora of pairs of texts, and of texts with translations: tables with TABs or commas, and JSON.

A table has two texts and a label on each line, optionally after a number. If its first line names
the columns, they can be in any order among others:

    sentence1,sentence2,label
    运费怎么算,邮费是多少,1

JSON has an object for each pair, one per line or all of them in one array. A pair becomes one Doc,
as `similarity.pairs` says, with all labels of its file in `doc.cats`.

Translations have a text, a TAB and its translation on each line, which becomes a Doc of the text
with `doc._.translation`.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..similarity.pairs import DIFFERENT, SAME, SIMILARITY, join_pair, mark_pair, pair_of
from ..text.units import HAN
from ..translator import scores as _extensions  # noqa: F401  (doc._.translation)
from .docs import make_doc
from .formats import ConvertOptions, CorpusFormat, Summary
from .records import (
    Line,
    Rows,
    csv_lines,
    parsed_records,
    require_columns,
    tab_lines,
)

# Names of the two texts and the label, in any case.
TEXTS = [
    (f"{name}{left}", f"{name}{right}")
    for name in ("sentence", "text", "question", "query")
    for left, right in (("1", "2"), ("_a", "_b"))
] + [("premise", "hypothesis")]
LABELS = ("gold_label", "label", "is_duplicate", "score", "similarity")
UNLABELLED = ("", "-")  # "-" in SNLI if annotators disagree
CLASSES = {
    **dict.fromkeys(("0", "0.0", "否", "错", "no", "false"), DIFFERENT),
    **dict.fromkeys(("1", "1.0", "是", "对", "yes", "true"), SAME),
}
LAYOUT = '{"sentence1": "…", "sentence2": "…", "label": …}'

T = TypeVar("T")
Cells = Iterator[tuple[Line, Sequence[str]]]  # line, and two texts and a label


def read_pairs(
    path: Path, options: ConvertOptions, summary: Summary, cut: Callable[[Path], Cells]
) -> Iterator[Doc]:
    """Yield the Docs of a file that `cut` splits into texts and labels. Raises ValueError as
    `categories`, and for an empty text (F153) or one with U+001F (F320)."""
    rows = [
        (line, left.strip(), right.strip(), label.strip())
        for line, (left, right, label) in cut(path)
    ]
    labelled = [row for row in rows if row[3] not in UNLABELLED]
    summary.skipped += len(rows) - len(labelled)
    lines = {label: line for line, _, _, label in reversed(labelled)}  # the first of each
    cats = categories(path, lines, Counter(row[3] for row in labelled), options.scores)
    vocab = Vocab()
    for line, left, right, label in labelled:
        if not (left and right):
            words = {"side": "right text" if left else "left text", "problem": "is empty"}
            raise ValueError(Errors.F153.format(path=path, line=line, **words))
        doc = make_doc(vocab, join_pair(left, right))
        pair = pair_of(doc)
        assert pair is not None  # the separator is between them
        mark_pair(doc, pair)
        doc.cats = cats[label]
        yield doc


def categories(
    path: Path, lines: Mapping[str, Line], counts: Counter[str], scores: bool
) -> dict[str, dict[str, float]]:
    """The `doc.cats` of each label of a file. Raises ValueError for labels that look like something
    else (F155, F157), and scores that aren't numbers (F151).

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
    for label in () if others else numbers:
        if not float(label).is_integer():
            raise ValueError(Errors.F157.format(path=path, line=lines[label], found=label))
    names = {label: CLASSES.get(label.casefold(), "") for label in lines}
    classes = [DIFFERENT, SAME]
    if not all(names.values()):
        classes = sorted(lines)
        names = {label: label for label in classes}
    return {label: {each: float(each == names[label]) for each in classes} for label in lines}


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
            header = named({cell: number for number, cell in enumerate(cells)})
            has_number = len(cells) == 4 and is_number(cells[0])
            columns = header or ((1, 2, 3) if has_number else (0, 1, 2))
            size = len(cells)
            fits = bool(header) or has_number or size == 3
            require_columns(path, line, cells, fits, "two texts and a label")
            if header:
                continue
        require_columns(path, line, cells, len(cells) == size, f"{size} as before")
        yield line, [cells[number] for number in columns]


def named(values: Mapping[str, T]) -> tuple[T, T, T] | None:
    """Those of the two texts and the label by their usual names, or None if one is missing."""
    known = {name.strip().casefold(): each for name, each in values.items()}
    texts = next((both for both in TEXTS if known.keys() >= set(both)), None)
    label = next((name for name in LABELS if name in known), None)
    if texts is None or label is None:
        return None
    return known[texts[0]], known[texts[1]], known[label]


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
    f"{left}{right}{label}".encode()  # raises for a surrogate, which JSON can escape
    return [left, right, "" if label is None else str(label)]


# Translations


def read_translations(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Doc]:
    """Yield the Docs of a file. Raises ValueError for a line of another form (F151) or with one
    text (F153). Warns (W405) if texts and translations seem to be swapped."""
    vocab = Vocab()
    n_swapped = 0
    for line, cells in tab_lines(path):
        require_columns(path, line, cells, len(cells) == 2, "a text, a TAB and its translation")
        source, translation = map(str.strip, cells)
        if not (source and translation):
            words = {"side": "translation" if source else "source", "problem": "is empty"}
            raise ValueError(Errors.F153.format(path=path, line=line, **words))
        n_swapped += bool(HAN.search(translation) and not HAN.search(source))
        doc = make_doc(vocab, source)
        doc._.translation = translation
        yield doc
    if n_swapped > 0.5 * summary.docs:
        warning = Warnings.W405.format(path=path, n=summary.docs, swapped=n_swapped)
        warnings.warn(warning, stacklevel=2)


_of_pairs = partial(CorpusFormat, takes=("scores",))
_tsv, _csv = (partial(table_cells, lines_of=lines_of) for lines_of in (tab_lines, csv_lines))
FORMATS: dict[str, CorpusFormat] = {
    "pairs-tsv": _of_pairs(partial(read_pairs, cut=_tsv), "运费怎么算⇥邮费是多少⇥1"),
    "pairs-csv": _of_pairs(partial(read_pairs, cut=_csv), "运费怎么算,邮费是多少,1"),
    "pairs-jsonl": _of_pairs(
        partial(read_pairs, cut=record_cells),
        '{"sentence1": "运费怎么算", "sentence2": "邮费是多少", "label": 1}',
    ),
    "parallel-tsv": CorpusFormat(read_translations, "他来了。⇥He came."),
}
