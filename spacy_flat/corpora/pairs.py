"""Corpora of pairs of texts: tables with TABs, commas or semicolons, and JSON.

A table has two texts and a label on each line, optionally after a number. If its first line names
the columns, they can be in any order among others:

    sentence1,sentence2,label
    运费怎么算,邮费是多少,1

JSON has an object for each pair, one per line or all of them in one array:

    {"sentence1": "运费怎么算", "sentence2": "邮费是多少", "label": "1"}

A pair becomes one Doc, as `similarity.pairs` says, with all labels of its file in `doc.cats`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors
from ..similarity.pairs import DIFFERENT, SAME, SEPARATOR, SIMILARITY, join_pair, mark_pair, pair_of
from ..util.files import read_text_lines
from .cells import count_other_columns, csv_lines, tab_lines
from .columns import SAMPLE, has_tags
from .records import check_characters, first_record, has_objects, parsed_records
from .repairs import Repairs
from .tables import ConvertOptions, CorpusFormat
from .tokens import split_off_spaces

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
UNLABELLED = ("", "-")  # "-" in SNLI if annotators disagree
CLASSES = {
    **dict.fromkeys(("0", "0.0", "否", "错", "no", "false"), DIFFERENT),
    **dict.fromkeys(("1", "1.0", "是", "对", "yes", "true"), SAME),
}

MANY = 20  # minimum pairs for which labels must repeat

LAYOUT = '{"sentence1": "…", "sentence2": "…", "label": …}'
Name = str | int  # of a column: in JSON its key, in a table its number
Cells = tuple[int, Sequence[str]]  # line, and two texts and label
TableLines = Callable[[Path, Repairs], Iterator[tuple[int, list[str]]]]


class Columns(NamedTuple):
    """The columns of the two texts and the label."""

    left: Name
    right: Name
    label: Name


class RawPair(NamedTuple):
    """A pair as in its file, starting at `line`."""

    line: int
    left: str
    right: str
    label: str


# Formats


@dataclass(frozen=True)
class PairReader:
    """Reads a file of pairs; the part that all formats share."""

    path: Path
    repairs: Repairs
    scores: bool = False

    def rows(self, cells: Iterator[Cells]) -> list[RawPair]:
        """The pairs of cells. Raises ValueError (F151, F153)."""
        rows = (
            RawPair(line, *(text.replace("\ufeff", "") for text in texts)) for line, texts in cells
        )
        return [RawPair(row.line, *map(str.strip, row[1:])) for row in rows if self._is_whole(row)]

    def _is_whole(self, row: RawPair) -> bool:
        where = {"path": self.path, "line": row.line}
        for side, text in (("left", row.left), ("right", row.right)):
            if SEPARATOR in text:  # before it is stripped as white space
                problem = "contains U+001F, which separates the two texts of a pair"
                error = Errors.F153.format(**where, side=f"{side} text", problem=problem)
                return self.repairs.count("pair with U+001F in a text dropped", error)
            if not text.strip():
                error = Errors.F153.format(**where, side=f"{side} text", problem="is empty")
                return self.repairs.count("pair with an empty text dropped", error)
        label = row.label.strip()
        if label in UNLABELLED or (self.scores and not is_number(label)):
            wanted = "number" if self.scores else "label"
            error = Errors.F151.format(**where, found=repr(label), wanted=f"a {wanted}")
            return self.repairs.count(f"pair without a {wanted} dropped", error)
        return True

    def cats(self, rows: Sequence[RawPair]) -> Iterator[dict[str, float]]:
        """Yield the categories of each pair. Raises ValueError (F155, F157, F159)."""
        if self.scores:
            yield from ({SIMILARITY: float(row.label)} for row in rows)
            return
        self._check_labels(rows)
        found = {row.label for row in rows}
        if all(label.casefold() in CLASSES for label in found):
            names = {label: CLASSES[label.casefold()] for label in found}
            labels = [DIFFERENT, SAME]
        else:
            labels = sorted(found)
            names = {label: label for label in labels}
        for row in rows:
            yield {label: float(label == names[row.label]) for label in labels}

    def _check_labels(self, rows: Sequence[RawPair]) -> None:
        numbers = [is_number(row.label) for row in rows]
        if len(rows) > 1 and not numbers[0] and all(numbers[1:]):
            first = rows[0]
            raise ValueError(Errors.F155.format(path=self.path, line=first.line, found=first.label))
        n_labels = len({row.label for row in rows})
        if len(rows) >= MANY and n_labels > len(rows) / 2:
            raise ValueError(Errors.F159.format(path=self.path, labels=n_labels, pairs=len(rows)))
        for row in rows if all(numbers) else ():
            if not float(row.label).is_integer():
                raise ValueError(Errors.F157.format(path=self.path, line=row.line, found=row.label))


def pairs(cut: Callable[[Path, Repairs], Iterator[Cells]]) -> CorpusFormat:
    """The format of files that `cut` makes texts and labels of."""

    def read(path: Path, options: ConvertOptions, repairs: Repairs, vocab: Vocab) -> Iterator[Doc]:
        reader = PairReader(path, repairs, options.scores)
        rows = reader.rows(cut(path, repairs))
        for row, cats in zip(rows, reader.cats(rows), strict=True):
            yield make_pair(vocab, row.left, row.right, cats)

    return CorpusFormat(
        read, count_labels, show_pair, "pair", ("scores",), "pair", key_of, texts_of
    )


def make_pair(vocab: Vocab, left: str, right: str, cats: Mapping[str, float]) -> Doc:
    words, spaces = split_off_spaces(list(join_pair(left, right)), "")
    doc = Doc(vocab, words=words, spaces=spaces)
    pair = pair_of(doc)
    assert pair is not None  # the separator is between them
    mark_pair(doc, pair)
    doc.cats = dict(cats)
    return doc


def texts_of(doc: Doc) -> tuple[str, str]:
    left, _, right = doc.text.partition(SEPARATOR)
    return left, right


def key_of(doc: Doc) -> frozenset[str]:
    """The texts in either order."""
    return frozenset(texts_of(doc))


def count_labels(doc: Doc) -> Counter[str]:
    """The label that holds, or "similarity" for a score."""
    return Counter([label_of(doc)])


def label_of(doc: Doc) -> str:
    return max(doc.cats, key=lambda label: doc.cats[label])


def show_pair(doc: Doc) -> str:
    """The label or the score, and the two texts."""
    label = label_of(doc)
    shown = f"{doc.cats[label]:g}" if label == SIMILARITY else label
    return " ".join(f"{shown}: {' | '.join(texts_of(doc))}".split())


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# Tables


def table_cells(lines_of: TableLines, path: Path, repairs: Repairs) -> Iterator[Cells]:
    """Yield texts and label of each line, in the columns named in the first line. Raises ValueError
    (F004, F151, and F152 with `csv_lines`)."""
    columns, size = None, 0
    for line, cells in lines_of(path, repairs):
        if columns is None:
            columns, size = find_columns(cells), len(cells)
            if is_header(cells):
                repairs.n_lines -= 1
                continue
        if columns is not None and len(cells) == size:
            yield line, [cells[int(name)] for name in columns]
        else:
            wanted = f"{size} as before" if columns else "two texts and a label"
            count_other_columns(path, line, len(cells), wanted, repairs)


def find_columns(cells: Sequence[str]) -> Columns | None:
    """Find the columns of the texts and the label by the first line of a table."""
    if named := named_columns({cell: number for number, cell in enumerate(cells)}):
        return named
    if len(cells) == 3:
        return Columns(0, 1, 2)
    if len(cells) == 4 and is_number(cells[0].replace("\ufeff", "")):
        return Columns(1, 2, 3)
    return None


def is_header(cells: Sequence[str]) -> bool:
    return named_columns(dict.fromkeys(cells, "")) is not None


def named_columns(names: Mapping[str, Name]) -> Columns | None:
    """The columns by their usual names, or None if one of the three is missing."""
    known = {name.replace("\ufeff", "").strip().casefold(): at for name, at in names.items()}
    texts = next((both for both in TEXTS if known.keys() >= set(both)), None)
    label = next((name for name in LABELS if name in known), None)
    if texts is None or label is None:
        return None
    return Columns(known[texts[0]], known[texts[1]], known[label])


# JSON


def parse_record(record: Any) -> list[str]:
    """Return texts and label of an object. Raises ValueError that says what is wrong with it."""
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    columns = named_columns({name: name for name in record})
    if columns is None:
        raise ValueError("it has no two texts and a label under the usual names")
    left, right, label = (record[str(name)] for name in columns)
    if not isinstance(left, str) or not isinstance(right, str):
        raise ValueError("its texts are not strings")
    if not isinstance(label, str | int | float | None):
        raise ValueError("its label is neither a string nor a number")
    check_characters(left, right, str(label))
    return [left, right, written(label)]


def written(label: str | int | float | None) -> str:
    """A label as text; nothing for null, and a number for true and false."""
    if label is None:
        return ""
    return str(int(label)) if isinstance(label, bool) else str(label)


FORMATS: dict[str, CorpusFormat] = {
    "pairs-tsv": pairs(partial(table_cells, tab_lines)),
    "pairs-csv": pairs(partial(table_cells, csv_lines)),
    "pairs-jsonl": pairs(partial(parsed_records, parse=parse_record, layout=LAYOUT)),
}


# Telling the format


def detect_format(path: Path) -> str | None:
    """Tell the format of a file by how it begins; None where it looks like none of pairs."""
    if has_objects(path):
        return "pairs-jsonl" if named_columns(dict.fromkeys(first_record(path) or (), "")) else None
    if has_tags(path):
        return None
    _, first = next((line, text) for line, text in read_text_lines(path) if text.strip())
    if "\t" in first:
        return "pairs-tsv" if _is_table(tab_lines(path, Repairs())) else None
    return "pairs-csv" if _is_table(csv_lines(path, Repairs(enabled=True))) else None


def _is_table(lines: Iterator[tuple[int, list[str]]]) -> bool:
    """Whether the first line names columns of pairs, or has as many as they have, and those of the
    labels are such: numbers, or few that return."""
    rows = [cells for _, cells in islice(lines, SAMPLE)]
    columns = find_columns(rows[0]) if rows else None
    if columns is None:
        return False
    at = int(columns.label)
    labels = [row[at].strip() for row in rows if len(row) == len(rows[0])]
    return is_header(rows[0]) or all(map(is_number, labels)) or len(set(labels)) <= len(labels) / 2
