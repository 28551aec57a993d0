"""Corpora of pairs of texts, and of texts with translations: tables with TABs or commas.

A table has two texts and a label on each line, optionally after a number. If its first line names
the columns, they can be in any order among others:

    sentence1,sentence2,label
    运费怎么算,邮费是多少,1

A pair becomes one Doc, as `similarity.pairs` says, with all labels of its file in `doc.cats`.

Translations have a text, a TAB and its translation on each line, which becomes a Doc of the text
with `doc._.translation`.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..similarity.pairs import DIFFERENT, SAME, SIMILARITY, join_pair, mark_pair, pair_of
from ..text.scripts import HAN
from ..translator import scores as _extensions  # noqa: F401  (doc._.translation)
from .docs import make_doc
from .formats import ConvertOptions, CorpusFormat, Summary
from .records import Rows, csv_lines, require_columns, tab_lines

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


def read_pairs(
    path: Path, options: ConvertOptions, summary: Summary, lines_of: Callable[[Path], Rows]
) -> Iterator[Doc]:
    """Yield the Docs of a table that `lines_of` splits into cells. Raises ValueError as `raw_pairs`
    and `categories`, and for an empty text (F153) or one with U+001F (F320)."""
    rows = list(raw_pairs(path, lines_of(path)))
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


def raw_pairs(path: Path, rows: Rows) -> Iterator[tuple[int, str, str, str]]:
    """Line, two texts and label of each row, in the columns named in the first line. Raises
    ValueError (F151, F152)."""
    columns: Sequence[int] | None = None
    size = 0
    for line, cells in rows:
        if columns is None:
            header = named_columns(cells)
            has_number = len(cells) == 4 and is_number(cells[0])
            columns = header or ((1, 2, 3) if has_number else (0, 1, 2))
            size = len(cells)
            fits = bool(header) or has_number or size == 3
            require_columns(path, line, cells, fits, "two texts and a label")
            if header:
                continue
        require_columns(path, line, cells, len(cells) == size, f"{size} as before")
        left, right, label = (cells[number].strip() for number in columns)
        yield line, left, right, label


def named_columns(cells: Sequence[str]) -> Sequence[int] | None:
    """The columns of the texts and the label, if a line is a header that names all three."""
    names = [cell.strip().casefold() for cell in cells]
    texts = next((both for both in TEXTS if {*both} <= {*names}), None)
    label = next((name for name in LABELS if name in names), None)
    return [names.index(name) for name in (*texts, label)] if texts and label else None


def categories(
    path: Path, lines: Mapping[str, int], counts: Counter[str], scores: bool
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
FORMATS: dict[str, CorpusFormat] = {
    "pairs-tsv": _of_pairs(partial(read_pairs, lines_of=tab_lines), "运费怎么算⇥邮费是多少⇥1"),
    "pairs-csv": _of_pairs(partial(read_pairs, lines_of=csv_lines), "运费怎么算,邮费是多少,1"),
    "parallel-tsv": CorpusFormat(read_translations, "他来了。⇥He came."),
}
