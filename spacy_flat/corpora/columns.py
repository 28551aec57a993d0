"""Column files: a unit and its tag on each line, a blank line after each sentence.

The unit (character or word) is the first column, the tag the last; TABs separate columns where the
line has one, any white space elsewhere. Schemes: BIO (IOB2), BMES and BIOES.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import Errors
from ..files import read_text_lines
from ..text.units import EntitySpan
from .sentence import Repairs, Sentence

Scheme = Literal["bio", "bmes", "bioes"]

PREFIXES: dict[Scheme, str] = {"bio": "BI", "bmes": "BMES", "bioes": "BIES"}
# BIO has no tag that closes an entity; the others close it with this one.
CLOSING: dict[Scheme, str] = {"bio": "", "bmes": "E", "bioes": "E"}

# A unit that is itself white space is told from the separator by being one character before it.
_TABBED = re.compile(r"([^\t]+)\t(?:.*\t)?\s*(\S+)")
_SPACED = re.compile(r"(\s|\S+)\s+(?:.*\s)?(\S+)")


class Row(NamedTuple):
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

    def __iter__(self) -> Iterator[Sentence]:
        """Yield the sentences. Raises ValueError (F004, F102 to F105, F111)."""
        for rows in self._sentences():
            units = [self._stripped(row) for row in rows]
            yield Sentence(units, self._entities(rows), rows[0].line)

    def _sentences(self) -> Iterator[list[Row]]:
        rows: list[Row] = []
        for number, text in read_text_lines(self.path):
            if text.strip() and not text.startswith("-DOCSTART-"):
                columns = split_columns(text)
                if columns is None:
                    error = Errors.F102.format(path=self.path, line=number, text=text)
                    self.repairs.count("line without a tag dropped", error)
                else:
                    rows.append(Row(number, *columns))
            elif rows:
                yield rows
                rows = []
        if rows:
            yield rows

    def _stripped(self, row: Row) -> str:
        unit = row.unit
        if self.strip_prefix:
            unit = unit.removeprefix(self.strip_prefix)
            if unit in ("", row.unit):
                return self._kept(row, f"prefix {self.strip_prefix!r}", "--strip-prefix")
        if self.strip_position:
            whole, unit = unit, unit[:1] + unit[1:].rstrip(string.digits)
            if unit == whole:
                return self._kept(row, "position digit", "--strip-position")
        return unit

    def _kept(self, row: Row, part: str, option: str) -> str:
        error = Errors.F111.format(
            path=self.path, line=row.line, unit=row.unit, part=part, option=option
        )
        self.repairs.count("unit without prefix or position kept", error)
        return row.unit

    def _entities(self, rows: list[Row]) -> list[EntitySpan]:
        entities: list[EntitySpan] = []
        start: int | None = None
        label = ""
        # The last pair stands for the end of the sentence, which ends an open entity as O does.
        tags = [*(self._parse_tag(row) for row in rows), ("O", "")]
        for index, (prefix, tag_label) in enumerate(tags):
            continues = prefix in "IME"
            if start is not None and continues and tag_label == label:
                if prefix == "E":
                    entities.append(EntitySpan(start, index + 1, label))
                    start = None
                continue
            if start is not None:
                self._end_without_closing_tag(rows[index - 1], label)
                entities.append(EntitySpan(start, index, label))
                start = None
            if prefix == "O":
                continue
            if continues:
                row = rows[index]
                error = Errors.F104.format(path=self.path, line=row.line, tag=row.tag)
                self.repairs.count("illegal start made a start", error)
            if prefix in "SE":
                entities.append(EntitySpan(index, index + 1, tag_label))
            else:
                start, label = index, tag_label
        return entities

    def _parse_tag(self, row: Row) -> tuple[str, str]:
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
        self.repairs.count("unknown tag read as O", error)
        return "O", ""

    def _end_without_closing_tag(self, row: Row, label: str) -> None:
        closing = CLOSING[self.scheme]
        if closing:
            tag = f"{closing}-{label}"
            error = Errors.F105.format(path=self.path, line=row.line, label=label, tag=tag)
            self.repairs.count("unclosed entity closed", error)


def split_columns(text: str) -> tuple[str, str] | None:
    """Return the first and the last column of a line, or None where there are not two."""
    match = (_TABBED if "\t" in text else _SPACED).fullmatch(text.rstrip())
    return None if match is None else (match[1], match[2])


def detect_scheme(path: Path) -> Scheme:
    """Tell the scheme of a file by the prefixes of its tags: M is in BMES alone, E and S are not
    in BIO. Raises ValueError (F004)."""
    closing = False
    for _, text in read_text_lines(path):
        columns = split_columns(text)
        prefix = columns[1].partition("-")[0] if columns else ""
        if prefix == "M":
            return "bmes"
        closing = closing or prefix in ("E", "S")
    return "bioes" if closing else "bio"
