"""Lines of tables, cut into cells at TABs or commas."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from ..errors import Errors
from ..util.files import read_text_lines
from .sentence import Repairs

LONGEST_TEXT = 1 << 30  # characters in a cell, for Python's csv


def tab_lines(path: Path) -> Iterator[tuple[int, list[str] | None]]:
    """Yield (line, cells) of the lines that are not blank."""
    for line, text in read_text_lines(path):
        if text.strip():
            yield line, text.split("\t")


def comma_lines(path: Path, repairs: Repairs) -> Iterator[tuple[int, list[str] | None]]:
    """Yield (line, cells), or None for cells whose quotes can't be read. A text within quotes may
    go on over several lines."""
    csv.field_size_limit(LONGEST_TEXT)
    lines = list(read_text_lines(path))
    place = 0
    while place < len(lines):
        number = lines[place][0]
        following = csv.reader((f"{lines[i][1]}\n" for i in range(place, len(lines))), strict=True)
        try:
            cells = next(following)
            place += following.line_num
        except csv.Error as problem:
            error = Errors.F152.format(path=path, line=number, problem=problem)
            repairs.count_line("line with wrong quotes dropped", error)
            yield number, None
            place += 1
            continue
        if any(cell.strip() for cell in cells):
            yield number, cells
