"""Column files: a unit and its tag on each line, a blank line after each sentence.

The unit (character or word) is the first column, the tag the last; TABs separate columns where the
line has one, any white space elsewhere. Schemes: BIO (IOB2), IOB1, BMES, BIOES and spaCy's BILUO.
Lines that begin with "# " and end without a tag are comments; "-DOCSTART-" separates sentences.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import Errors
from ..text.characters import UNSPACED_RANGES
from ..text.units import EntitySpan
from ..util.files import read_text_lines
from .repairs import AnnotatedUnits, Repairs

Scheme = Literal["bio", "iob1", "bmes", "bioes", "biluo"]

PREFIXES: dict[Scheme, str] = {
    "bio": "BI",
    "iob1": "BI",
    "bmes": "BMES",
    "bioes": "BIES",
    "biluo": "BILU",
}
# The tag that closes an entity, where the scheme has one.
CLOSING: dict[Scheme, str] = {"bmes": "E", "bioes": "E", "biluo": "L"}

# A unit may be whitespace: one character in front of the separator.
_TABBED = re.compile(r"([^\t]+)\t(?:.*\t)?\s*(\S+)")
_SPACED = re.compile(r"(\s|\S+)\s+(?:.*\s)?(\S+)")

# Two letters, but for Thai, Lao, Tibetan, Burmese and Khmer, kana, and Chinese characters.
_SPACED_WORD = re.compile(rf"(?:(?![\u0e00-\u109f\u1780-\u17ff{UNSPACED_RANGES}])[^\W\d_]){{2}}")
_TAG = re.compile(r"O|[BIMELSU]-\S+")
_REVERSED_TAG = re.compile(r"[^\W\d_]\S*[-_][BIMELSU]")
_LIKE_TAG = re.compile(r"[Oo]|[A-Za-z][-_]\S+")  # right ones and wrong ones
SAMPLE = 1000  # units by which a file is known


class TaggedUnit(NamedTuple):
    """A line of a column file."""

    line: int
    unit: str
    tag: str


@dataclass(frozen=True)
class ColumnReader:
    """Reads one column file.

    strip_prefix: text that stands before every unit ("en:" in WikiANN).
    strip_position: digits stand after every unit ("科0" in Weibo: its place in its word).
    """

    path: Path
    scheme: Scheme
    repairs: Repairs
    strip_prefix: str = ""
    strip_position: bool = False

    def __iter__(self) -> Iterator[AnnotatedUnits]:
        """Yield the sentences. Raises ValueError (F004, F102 to F105, F111, F141)."""
        for rows in self._sentences():
            units = [self._stripped(row) for row in rows]
            yield AnnotatedUnits(units, self._entities(rows), rows[0].line)

    def _sentences(self) -> Iterator[list[TaggedUnit]]:
        rows: list[TaggedUnit] = []
        for number, text in column_lines(self.path):
            if text:
                self.repairs.n_lines += 1
                columns = split_columns(text)
                if columns is None:
                    error = Errors.F102.format(path=self.path, line=number, text=text)
                    self.repairs.count("line without a tag dropped", error)
                else:
                    rows.append(TaggedUnit(number, *columns))
            elif rows:
                yield rows
                rows = []
        if rows:
            yield rows

    def _stripped(self, row: TaggedUnit) -> str:
        unit = row.unit
        if self.strip_prefix:
            unit = unit.removeprefix(self.strip_prefix)
            if unit in ("", row.unit):
                return self._kept(row, f"prefix {self.strip_prefix!r}", "--strip-prefix")
        if self.strip_position:
            whole, unit = unit, unit[:1] + unit[1:].rstrip(string.digits)
            if unit == whole:
                return self._kept(row, "position digit", "--strip-position")
        return self._without_outer_space(row, unit)

    def _kept(self, row: TaggedUnit, part: str, option: str) -> str:
        error = Errors.F111.format(
            path=self.path, line=row.line, unit=row.unit, part=part, option=option
        )
        self.repairs.count("unit without prefix or position kept", error)
        return self._without_outer_space(row, row.unit)

    def _without_outer_space(self, row: TaggedUnit, unit: str) -> str:
        """Trim a unit: spaCy's entities begin and end with tokens that are not whitespace."""
        if unit.isspace() or unit == unit.strip():
            return unit
        error = Errors.F141.format(path=self.path, line=row.line, unit=unit)
        self.repairs.count("white space trimmed off a unit", error)
        return unit.strip()

    def _entities(self, rows: list[TaggedUnit]) -> list[EntitySpan]:
        entities: list[EntitySpan] = []
        start: int | None = None
        label = ""
        # The last pair stands for the end of the sentence, which ends an open entity as O does.
        tags = [*(self._parse_tag(row) for row in rows), ("O", "")]
        for index, (prefix, tag_label) in enumerate(tags):
            continues = prefix in "IMEL"
            if start is not None and continues and tag_label == label:
                if prefix in "EL":
                    entities.append(EntitySpan(start, index + 1, label))
                    start = None
                continue
            if start is not None:
                self._end_without_closing_tag(rows[index - 1], label)
                entities.append(EntitySpan(start, index, label))
                start = None
            if prefix == "O":
                continue
            if continues and self.scheme != "iob1":
                row = rows[index]
                error = Errors.F104.format(path=self.path, line=row.line, tag=row.tag)
                self.repairs.count("illegal start made a start", error, label=True)
            if prefix in "SUEL":
                entities.append(EntitySpan(index, index + 1, tag_label))
            else:
                start, label = index, tag_label
        return entities

    def _parse_tag(self, row: TaggedUnit) -> tuple[str, str]:
        if row.tag == "O":
            return "O", ""
        prefix, _, label = row.tag.partition("-")
        if len(prefix) == 1 and prefix in PREFIXES[self.scheme] and label:
            return prefix, label
        expected = ", ".join(["O", *(f"{prefix}-TYPE" for prefix in PREFIXES[self.scheme])])
        error = Errors.F103.format(
            path=self.path,
            line=row.line,
            tag=row.tag,
            scheme=self.scheme.upper(),
            expected=expected,
        )
        self.repairs.count("unknown tag read as O", error, label=True)
        return "O", ""

    def _end_without_closing_tag(self, row: TaggedUnit, label: str) -> None:
        if closing := CLOSING.get(self.scheme):
            tag = f"{closing}-{label}"
            error = Errors.F105.format(path=self.path, line=row.line, label=label, tag=tag)
            self.repairs.count("unclosed entity closed", error, label=True)


def column_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of each line but comments; the text is empty between sentences.

    Raises as `read_text_lines`.
    """
    for number, text in read_text_lines(path):
        if not text.strip() or text.startswith("-DOCSTART-"):
            yield number, ""
        elif not (text.startswith("# ") and _is_comment(text.split())):
            yield number, text


def _is_comment(words: list[str]) -> bool:
    """Whether words after a "#" end without a tag. One word may be a wrong tag of the unit "#"."""
    tag = _LIKE_TAG if len(words) == 2 else _TAG
    return not tag.fullmatch(words[-1])


def split_columns(text: str) -> tuple[str, str] | None:
    """Return the first and the last column of a line, or None if it has only one."""
    match = (_TABBED if "\t" in text else _SPACED).fullmatch(text.rstrip())
    return None if match is None else (match[1], match[2])


def detect_scheme(path: Path) -> Scheme:
    """Tell the scheme of a file by the prefixes of its tags: only BMES has M, only BILUO has L and
    U, BIO has no E or S; in IOB1, I begins entities, and B only those that follow one of their
    type. Raises ValueError (F004)."""
    prefixes, beginning = set(), set()
    label = ""
    for _, text in column_lines(path):
        before = label
        columns = split_columns(text)
        prefix, _, label = columns[1].partition("-") if columns else ("", "", "")
        prefixes.add(prefix)
        if label != before:
            beginning.add(prefix)
    if "M" in prefixes:
        return "bmes"
    if prefixes & {"L", "U"}:
        return "biluo"
    if prefixes & {"E", "S"}:
        return "bioes"
    return "iob1" if "I" in beginning and "B" not in beginning else "bio"


def sample_rows(path: Path) -> list[tuple[str, str]]:
    """The first units of a file and their tags, as they stand there. Raises ValueError (F004)."""
    columns = (split_columns(text) for _, text in column_lines(path))
    return list(islice((row for row in columns if row), SAMPLE))


def has_tags(path: Path) -> bool:
    """Whether a file is one of columns: most of its first units have a tag, or, where the columns
    are swapped, are one. Wrong tags count as well: their reader names them."""
    rows = sample_rows(path)
    tagged = sum(any(map(_LIKE_TAG.fullmatch, row)) for row in rows)
    return tagged > 0.5 * len(rows)


def reversed_tag(rows: Sequence[tuple[str, str]]) -> str:
    """The first tag with its position at the end ("PER-B"), if all tags but "O" are such."""
    tags = [tag for _, tag in rows if tag != "O"]
    reverse = all(_REVERSED_TAG.fullmatch(tag) and not _TAG.fullmatch(tag) for tag in tags)
    return tags[0] if tags and reverse else ""


def are_swapped(rows: Sequence[tuple[str, str]]) -> bool:
    """Whether all units look like tags, and not all tags do."""
    units, tags = (all(map(_TAG.fullmatch, column)) for column in zip(*rows, strict=True))
    return units and not tags


def has_positions(units: Sequence[str]) -> bool:
    """Whether units carry the digit of their place in their word, as "科0" does in Weibo: nearly
    all end in a digit, and most are more than digits."""
    ending = sum(len(unit) > 1 and unit[-1] in string.digits for unit in units)
    numbers = sum(unit.isdecimal() for unit in units)
    return ending > 0.9 * len(units) and numbers < 0.5 * len(units)


def has_spaced_words(units: Sequence[str]) -> bool:
    """Whether most units are words of a script that writes spaces between them."""
    words = sum(bool(_SPACED_WORD.search(unit)) for unit in units)
    return words > 0.5 * len(units)
