"""Lines of tables, cut into cells at TABs, commas or semicolons."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import Errors
from ..util.files import read_text_lines
from ..util.plural import counted
from .repairs import Repairs

LONGEST_TEXT = 1 << 30  # characters in a cell, for Python's csv

_COMMA_OR_SEMICOLON = re.compile("[,;]")


def tab_lines(path: Path, repairs: Repairs) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of the lines that are not blank."""
    for line, text in read_text_lines(path):
        if text.strip():
            repairs.n_lines += 1
            yield line, text.split("\t")


def csv_separator(texts: Iterable[str]) -> str:
    """The separator of the lines of a .csv file: ";" if most have a semicolon before any comma, as
    Excel writes it in countries with a decimal comma; otherwise ","."""
    lines = [text for text in texts if text.strip()]
    first = [mark[0] for text in lines if (mark := _COMMA_OR_SEMICOLON.search(text))]
    return ";" if first.count(";") > len(lines) / 2 else ","


def csv_lines(path: Path, repairs: Repairs) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of the lines that are not blank. Quoted texts may span several lines.

    Raises ValueError (F152) for wrong quotes.
    """
    csv.field_size_limit(LONGEST_TEXT)
    lines = list(read_text_lines(path))
    separator = csv_separator(text for _, text in lines)
    place = 0
    while place < len(lines):
        number = lines[place][0]
        rest = (f"{lines[i][1]}\n" for i in range(place, len(lines)))
        following = csv.reader(rest, strict=True, delimiter=separator)
        try:
            cells = next(following)
            place += following.line_num
        except csv.Error as problem:
            error = Errors.F152.format(path=path, line=number, problem=problem)
            repairs.n_lines += 1
            repairs.count("line with wrong quotes dropped", error)
            place += 1
            continue
        if any(cell.strip() for cell in cells):
            repairs.n_lines += 1
            yield number, cells


def count_other_columns(path: Path, line: int, n: int, wanted: str, repairs: Repairs) -> None:
    """Count a line with a wrong number of cells. Raises ValueError (F151)."""
    where = {"path": path, "line": line}
    error = Errors.F151.format(**where, found=counted(n, "column"), wanted=wanted)
    repairs.count("line with other columns dropped", error)
