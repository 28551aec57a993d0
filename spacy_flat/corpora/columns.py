"""Column files: a unit and its tag on each line, a blank line after each sentence.

The unit (a character or word) is the first column, the tag the last, or others that are chosen,
separated by TABs if the line has one, otherwise by white space. Schemes: BIO (IOB2), BMES and
BIOES. Lines that begin with "# " and end without a tag are comments; "-DOCSTART-" separates
sentences.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import Errors, Warnings
from ..text.scripts import UNSPACED_RANGES
from ..text.spans import EntitySpan
from ..util.files import read_text_lines
from .formats import ConvertOptions, Summary
from .records import Line, has_records

Cells = Iterable[tuple[Line, tuple[str, str] | None]]  # unit and tag; None between sentences
Scheme = Literal["bio", "bmes", "bioes"]

PREFIXES: dict[Scheme, str] = {"bio": "BI", "bmes": "BMES", "bioes": "BIES"}
SAMPLE = 1000  # lines that show whether units are words
MAX_UNITS = 500  # of a file that may well be one text

# A unit may be white space: one character before the separator.
_TABBED = re.compile(r"([^\t]+)\t(?:.*\t)?\s*(\S+)")
_SPACED = re.compile(r"(\s|\S+)\s+(?:.*\s)?(\S+)")

# A type is printable, and contains no other tag: "PER,I-PER,O" are the tags of a whole sentence.
TAG = re.compile(r"O|[BIMES]-(?:(?!\W[BIMES]-)[^\s\x00-\x1f])+")
# Two letters, except Thai, Lao, Tibetan, Burmese, Khmer, kana, and Chinese characters.
_SPACED_WORD = re.compile(rf"(?:(?![\u0e00-\u109f\u1780-\u17ff{UNSPACED_RANGES}])[^\W\d_]){{2}}")
_POSITION = re.compile(r"\D\d")  # a character, and its place in a word
_SENTENCE = re.compile(r"[^\W\d_].*[，。！？；]|[，。！？；].*[^\W\d_]")


class TaggedUnit(NamedTuple):
    """A line of a column file, with the prefix of its tag ("?" for an unknown tag) and the type."""

    line: Line
    unit: str
    tag: str
    prefix: str
    label: str


class Sentence(NamedTuple):
    """An annotated sentence. Entities don't overlap.

    unknown: units without annotation. unannotated: labels without.
    """

    units: list[str]
    entities: list[EntitySpan]
    unknown: Sequence[int] = ()
    unannotated: Sequence[str] = ()


Reader = Callable[[Path, ConvertOptions, Summary], Iterator[Sentence]]


def read_columns(
    path: Path, options: ConvertOptions, summary: Summary, scheme: Scheme
) -> Iterator[Sentence]:
    """Yield the sentences of a column file. Raises ValueError as `column_cells` and `sentences_of`,
    and F129 if the first lines are JSON without tags."""
    tags = (columns[1] for _, text in column_lines(path) if (columns := split_columns(text)))
    if has_records(path) and not any(map(TAG.fullmatch, islice(tags, SAMPLE))):
        raise ValueError(Errors.F129.format(path=path))
    yield from sentences_of(path, column_cells(path, options), options, summary, scheme)


def sentences_of(
    path: Path, cells: Cells, options: ConvertOptions, summary: Summary, *given: Scheme
) -> Iterator[Sentence]:
    """Yield sentences from units and tags, in the given scheme, or the first of BIO, BMES and BIOES
    that has all tags.

    Raises ValueError (F103 to F105) and as `check_words`. Warns (W164) of a file without blank
    lines.
    """
    found = list(cells)
    check_words(path, [cell[0] for _, cell in found if cell][:SAMPLE], options)
    used = {cell[1][0] for _, cell in found if cell} - {"O"}
    fitting = [name for name, known in PREFIXES.items() if used <= {*known}]
    scheme = [*given, *fitting, *PREFIXES][0]
    for is_text, lines in groupby(found, lambda line: bool(line[1])):
        if is_text:
            rows = [_row(path, number, *cell, scheme, summary) for number, cell in lines if cell]
            units = [row.unit if row.unit.isspace() else row.unit.strip() for row in rows]
            unknown = [index for index, row in enumerate(rows) if row.prefix == "?"]
            yield Sentence(units, _entities(path, scheme, rows, summary), unknown)
    if summary.docs == 1 and len(units) > MAX_UNITS:
        warnings.warn(Warnings.W164.format(path=path, n=len(units)), stacklevel=2)


def column_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of each line except comments; the text is empty between sentences."""
    for number, text in read_text_lines(path):
        if not text.strip() or text.startswith("-DOCSTART-"):
            yield number, ""
        elif not text.startswith("# ") or TAG.fullmatch(text.split()[-1]):
            yield number, text


def column_cells(path: Path, options: ConvertOptions) -> Cells:
    """Yield (number, unit and tag) of each line, and (number, None) between sentences. Raises
    ValueError (F102) for a line without both."""
    for number, text in column_lines(path):
        cell = split_columns(text, options.columns) if text else None
        if text and cell is None:
            raise ValueError(Errors.F102.format(path=path, line=number, text=text))
        yield number, cell


def split_columns(text: str, chosen: Sequence[str] = ()) -> tuple[str, str] | None:
    """The unit and the tag of a line: the first and the last column, or those with the chosen
    numbers (from 1). None without both. Raises ValueError (F175) for wrong numbers."""
    if chosen:
        cells = text.rstrip().split("\t" if "\t" in text else None)
        unit, tag = ("".join(cells[place : place + 1]) for place in column_places(chosen, 2))
        return (unit, tag) if unit and tag else None
    match = (_TABBED if "\t" in text else _SPACED).fullmatch(text.rstrip())
    return None if match is None else (match[1], match[2])


def column_places(chosen: Sequence[str], n: int) -> list[int]:
    """The places of n columns by their numbers from 1, if any. Raises ValueError (F175)."""
    if chosen and (len(chosen) != n or not all(map(str.isdecimal, chosen)) or "0" in chosen):
        raise ValueError(Errors.F175.format(columns=",".join(chosen)))
    return [int(each) - 1 for each in chosen]


def schemes_of(text: str, chosen: Sequence[str] = ()) -> set[tuple[str, int]]:
    """The schemes that a line fits, each with the number of columns; none for a line that has tags
    but not of one unit."""
    unit, tag = split_columns(text, chosen) or ("", "")
    cells = text.rstrip().split("\t" if "\t" in text else None)
    if unit.isspace() and "\t" not in text:
        cells = [unit, *cells]
    has_many = _SENTENCE.search(unit) or (len(cells) > 2 and all(map(TAG.fullmatch, cells[1::2])))
    if has_many or not TAG.fullmatch(tag):
        return set()
    return {(scheme, len(cells)) for scheme, known in PREFIXES.items() if tag[0] in f"O{known}"}


def check_words(path: Path, units: Sequence[str], options: ConvertOptions) -> None:
    """Raises ValueError if the first units are the numbers of the lines (F106), have positions
    (F114), as in Weibo, or are words that would be written together (F115)."""
    if units[:2] == ["1", "2"] and all(map(str.isdecimal, units)):
        raise ValueError(Errors.F106.format(path=path))
    if sum(bool(_POSITION.fullmatch(unit)) for unit in units) > 0.5 * len(units):
        raise ValueError(Errors.F114.format(path=path, units=" ".join(units[:4])))
    spaced = sum(bool(_SPACED_WORD.search(unit)) for unit in units)
    if not options.words and spaced > 0.5 * len(units):
        raise ValueError(Errors.F115.format(path=path, units=" ".join(units[:4])))


def _row(
    path: Path, number: Line, unit: str, tag: str, scheme: Scheme, summary: Summary
) -> TaggedUnit:
    prefix, _, label = tag.partition("-")
    if tag != "O" and not (prefix in PREFIXES[scheme] and TAG.fullmatch(tag)):
        expected = ", ".join(["O", *(f"{prefix}-TYPE" for prefix in PREFIXES[scheme])])
        words = {"tag": tag, "scheme": scheme.upper(), "expected": expected}
        error = Errors.F103.format(path=path, line=number, **words)
        summary.count_repair("unknown tag: not annotated", error)
        prefix, label = "?", ""
    return TaggedUnit(number, unit, tag, prefix, label)


def _entities(
    path: Path, scheme: Scheme, rows: list[TaggedUnit], summary: Summary
) -> list[EntitySpan]:
    entities: list[EntitySpan] = []
    start: int | None = None
    label = ""
    # The last row ends an entity at the end of the sentence.
    for index, row in enumerate([*rows, TaggedUnit(0, "", "O", "O", "")]):
        continues = row.prefix in "IME"
        if start is not None and not (continues and row.label == label):
            if scheme != "bio":
                words = {"label": label, "tag": f"E-{label}"}
                error = Errors.F105.format(path=path, line=rows[index - 1].line, **words)
                summary.count_repair("unclosed entity closed", error)
            entities.append(EntitySpan(start, index, label))
            start = None
        if row.prefix in "O?":
            continue
        if start is None:
            if continues:
                error = Errors.F104.format(path=path, line=row.line, tag=row.tag)
                summary.count_repair("illegal start made a start", error)
            start, label = index, row.label
        if row.prefix in "SE":
            entities.append(EntitySpan(start, index + 1, label))
            start = None
    return entities
