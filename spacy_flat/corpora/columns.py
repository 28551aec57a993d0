"""Column files: a unit and its tag on each line, a blank line after each sentence.

The unit (a character or word) is the first column, the tag the last, separated by TABs if the line
has one, otherwise by white space. Schemes: BIO (IOB2), BMES and BIOES. Lines that begin with "# "
and end without a tag are comments; "-DOCSTART-" separates sentences.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import Errors
from ..text.units import UNSPACED_RANGES, EntitySpan
from ..util.files import read_text_lines
from .cells import SAMPLE
from .formats import ConvertOptions, Summary

Scheme = Literal["bio", "bmes", "bioes"]

PREFIXES: dict[Scheme, str] = {"bio": "BI", "bmes": "BMES", "bioes": "BIES"}

# A unit may be white space: one character before the separator.
_TABBED = re.compile(r"([^\t]+)\t(?:.*\t)?\s*(\S+)")
_SPACED = re.compile(r"(\s|\S+)\s+(?:.*\s)?(\S+)")

# A type is printable, and contains no other tag: "PER,I-PER,O" are the tags of a whole sentence.
TAG = re.compile(r"O|[BIMES]-(?:(?!\W[BIMES]-)[^\s\x00-\x1f])+")
# Two letters, except Thai, Lao, Tibetan, Burmese, Khmer, kana, and Chinese characters.
_SPACED_WORD = re.compile(rf"(?:(?![\u0e00-\u109f\u1780-\u17ff{UNSPACED_RANGES}])[^\W\d_]){{2}}")
_SENTENCE = re.compile(r"[^\W\d_].*[，。！？；]|[，。！？；].*[^\W\d_]")


class TaggedUnit(NamedTuple):
    """A line of a column file."""

    line: int
    unit: str
    tag: str


class Sentence(NamedTuple):
    """An annotated sentence. Entities don't overlap.

    unknown: units without annotation. line: where it begins in the file.
    """

    units: list[str]
    entities: list[EntitySpan]
    line: int | str
    unknown: Sequence[int] = ()


def read_columns(
    path: Path, scheme: Scheme, options: ConvertOptions, summary: Summary
) -> Iterator[Sentence]:
    """Yield the sentences of a column file.

    options: `strip_prefix` is text before every unit ("en:" in WikiANN); with `strip_position`,
    each unit ends with the digit of its position in its word ("科0" in Weibo).

    Raises ValueError (F102 to F105, F111, F114, F115).
    """
    check_units(path, options)
    for is_text, lines in groupby(column_lines(path), lambda line: bool(line[1])):
        if is_text:
            rows = [_row(path, number, text) for number, text in lines]
            units = [_unit(path, row, options) for row in rows]
            tags = [_split_tag(path, row, scheme, summary) for row in rows]
            unknown = [index for index, (prefix, _) in enumerate(tags) if prefix == "?"]
            entities = _entities(path, scheme, rows, tags, summary)
            yield Sentence(units, entities, rows[0].line, unknown)


def column_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of each line except comments; the text is empty between sentences."""
    for number, text in read_text_lines(path):
        if not text.strip() or text.startswith("-DOCSTART-"):
            yield number, ""
        elif not text.startswith("# ") or TAG.fullmatch(text.split()[-1]):
            yield number, text


def split_columns(text: str) -> tuple[str, str] | None:
    """The first and the last column of a line, or None if it has only one."""
    match = (_TABBED if "\t" in text else _SPACED).fullmatch(text.rstrip())
    return None if match is None else (match[1], match[2])


def _row(path: Path, number: int, text: str) -> TaggedUnit:
    columns = split_columns(text)
    if columns is None:
        raise ValueError(Errors.F102.format(path=path, line=number, text=text))
    return TaggedUnit(number, *columns)


def _unit(path: Path, row: TaggedUnit, options: ConvertOptions) -> str:
    """The unit without prefix, position and outer white space. Raises ValueError (F111)."""
    prefix = options.strip_prefix
    unit = row.unit.removeprefix(prefix)
    if prefix and unit in ("", row.unit):
        words = {"unit": row.unit, "prefix": prefix}
        raise ValueError(Errors.F111.format(path=path, line=row.line, **words))
    if options.strip_position:
        unit = unit[:1] + unit[1:].rstrip(string.digits)
    return unit if unit.isspace() else unit.strip()


def _split_tag(path: Path, row: TaggedUnit, scheme: Scheme, summary: Summary) -> tuple[str, str]:
    """The prefix and the type of a tag; "?" for an unknown tag."""
    prefix, _, label = row.tag.partition("-")
    if row.tag == "O" or (prefix in PREFIXES[scheme] and TAG.fullmatch(row.tag)):
        return prefix, label
    expected = ", ".join(["O", *(f"{prefix}-TYPE" for prefix in PREFIXES[scheme])])
    words = {"scheme": scheme.upper(), "expected": expected}
    error = Errors.F103.format(path=path, line=row.line, tag=row.tag, **words)
    summary.count_repair("unknown tag: not annotated", error)
    return "?", ""


def _entities(
    path: Path,
    scheme: Scheme,
    rows: list[TaggedUnit],
    tags: list[tuple[str, str]],
    summary: Summary,
) -> list[EntitySpan]:
    entities: list[EntitySpan] = []
    start: int | None = None
    label = ""
    # The last tag ends an entity at the end of the sentence.
    for index, (prefix, tag_label) in enumerate([*tags, ("O", "")]):
        continues = prefix in "IME"
        if start is not None and not (continues and tag_label == label):
            if scheme != "bio":
                words = {"label": label, "tag": f"E-{label}"}
                error = Errors.F105.format(path=path, line=rows[index - 1].line, **words)
                summary.count_repair("unclosed entity closed", error)
            entities.append(EntitySpan(start, index, label))
            start = None
        if prefix in "O?":
            continue
        if start is None:
            if continues:
                row = rows[index]
                error = Errors.F104.format(path=path, line=row.line, tag=row.tag)
                summary.count_repair("illegal start made a start", error)
            start, label = index, tag_label
        if prefix in "SE":
            entities.append(EntitySpan(start, index + 1, label))
            start = None
    return entities


# What the first lines show


def detect_scheme(path: Path) -> Scheme | None:
    """The scheme of a file, or None if it isn't a column file: the first lines have a unit and a
    tag each, with the same number of columns. Only BMES has M, and BIO has neither E nor S."""
    sizes: set[int] = set()
    prefixes: set[str] = set()
    for text in islice((text for _, text in column_lines(path) if text), SAMPLE):
        unit, tag = split_columns(text) or ("", "")
        cells = text.rstrip().split("\t" if "\t" in text else None)
        if unit.isspace():
            cells = ["", *cells[-1:]]
        is_sentence = _SENTENCE.search(unit) or (
            len(cells) > 2 and all(map(TAG.fullmatch, cells[1::2]))
        )
        if is_sentence or not TAG.fullmatch(tag):
            return None
        sizes.add(len(cells))
        prefixes.add(tag[0])
    if len(sizes) != 1:
        return None
    return "bmes" if "M" in prefixes else "bioes" if prefixes & {"E", "S"} else "bio"


def check_units(path: Path, options: ConvertOptions) -> None:
    """Raises ValueError if units have positions that are not stripped (F114), or are words that
    would be written together (F115)."""
    columns = (split_columns(text) for _, text in column_lines(path))
    units = [row[0].removeprefix(options.strip_prefix) for row in islice(columns, SAMPLE) if row]
    example = " ".join(units[:4])
    # Nearly all end in a digit, and most are more than digits ("科0").
    positions = sum(len(unit) > 1 and unit[-1] in string.digits for unit in units)
    numbers = sum(unit.isdecimal() for unit in units)
    has_positions = positions > 0.9 * len(units) and numbers < 0.5 * len(units)
    if has_positions and not options.strip_position:
        raise ValueError(Errors.F114.format(path=path, units=example))
    spaced = sum(bool(_SPACED_WORD.search(unit)) for unit in units)
    if not options.words and spaced > 0.5 * len(units):
        raise ValueError(Errors.F115.format(path=path, units=example))
