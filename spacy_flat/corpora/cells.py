"""Lines of tables, split into cells at TABs, commas or semicolons."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ..errors import Errors
from ..util.files import read_text_lines
from ..util.messages import counted

Rows = Iterator[tuple[int, list[str]]]  # line and cells

MAX_CELL = 1 << 30  # characters, for Python's csv
SAMPLE = 1000  # lines

_COMMA_OR_SEMICOLON = re.compile("[,;]")


def tab_lines(path: Path) -> Rows:
    """Yield (line, cells) of the lines that are not blank."""
    for line, text in read_text_lines(path):
        if text.strip():
            yield line, text.split("\t")


def csv_lines(path: Path) -> Rows:
    """Yield (line, cells) of the lines that are not blank. Quoted texts may span several lines.

    The separator is ";" if most of the first lines have a semicolon before any comma, as Excel
    writes it in countries with a decimal comma; otherwise ",".

    Raises ValueError (F152) for wrong quotes.
    """
    csv.field_size_limit(MAX_CELL)
    sample = [text for _, text in islice(read_text_lines(path), SAMPLE) if text.strip()]
    marks = [mark[0] for mark in map(_COMMA_OR_SEMICOLON.search, sample) if mark]
    separator = ";" if marks.count(";") > len(sample) / 2 else ","
    lines = (f"{text}\n" for _, text in read_text_lines(path))
    rows = csv.reader(lines, strict=True, delimiter=separator)
    number = 1
    try:
        for cells in rows:
            if any(cell.strip() for cell in cells):
                yield number, cells
            number = rows.line_num + 1
    except csv.Error as problem:
        error = Errors.F152.format(path=path, line=number, problem=problem)
        raise ValueError(error) from None


def require_columns(path: Path, line: int, cells: list[str], fits: bool, wanted: str) -> None:
    """Raises ValueError (F151) unless the number of cells fits."""
    if not fits:
        found = counted(len(cells), "column")
        raise ValueError(Errors.F151.format(path=path, line=line, found=found, wanted=wanted))
