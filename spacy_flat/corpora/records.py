"""Tables as rows of cells, and JSON files: one record per line, or one array of all records."""

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ..errors import Errors
from ..util.files import read_text_lines
from ..util.messages import counted

T = TypeVar("T")
Line = int | str  # of a record; of one in an array, its number
Lines = Iterator[tuple[int, str]]
Rows = Iterator[tuple[int, list[str]]]  # line and cells


# Tables


def tab_lines(path: Path, lines: Lines | None = None) -> Rows:
    """Yield (line, cells) of the lines that are not blank. A cell may start with a byte order mark:
    `paste` joins two files, a program quotes it.

    lines: of the path, if they aren't read here.
    """
    for line, text in lines or read_text_lines(path):
        if text.strip():
            yield line, [cell.lstrip("\ufeff") for cell in text.split("\t")]


def csv_lines(path: Path, lines: Lines | None = None) -> Rows:
    """Yield (line, cells) as `tab_lines`. Quoted texts may span several lines.

    Raises ValueError (F152) for wrong quotes.
    """
    rows = csv.reader((f"{text}\n" for _, text in lines or read_text_lines(path)), strict=True)
    number = 1
    try:
        for cells in rows:
            if any(cell.strip() for cell in cells):
                yield number, [cell.lstrip("\ufeff") for cell in cells]
            number = rows.line_num + 1
    except csv.Error as problem:
        error = Errors.F152.format(path=path, line=number, problem=problem)
        raise ValueError(error) from None


def require_columns(path: Path, line: int, cells: list[str], fits: bool, wanted: str) -> None:
    """Raises ValueError (F151) unless the number of cells fits."""
    if not fits:
        found = counted(len(cells), "column")
        raise ValueError(Errors.F151.format(path=path, line=line, found=found, wanted=wanted))


# JSON


def parsed_records(path: Path, parse: Callable[[Any], T], layout: str) -> Iterator[tuple[Line, T]]:
    """Yield (line, parsed record) of each record.

    parse: raises ValueError that says what is wrong with a record.
    layout: the expected one, for errors.

    Raises ValueError (F156; F119 if an array can't be read).
    """
    for line, record in read_records(path):
        try:
            yield line, parse(record)
        except ValueError as problem:
            error = Errors.F156.format(path=path, line=line, layout=layout, problem=problem)
            raise ValueError(error) from None


def has_records(path: Path) -> bool:
    """Whether a file starts like JSON records or an array of them."""
    start = _first_line(path)
    return start in ("[", "{") or re.match(r'\{\s*"|\[\s*["\[{]', start) is not None


def read_records(path: Path) -> Iterator[tuple[Line, Any]]:
    """Yield (line, record) of each record, also of Rasa's examples and of an object on several
    lines. Raises ValueError (F119, F156)."""
    start = _first_line(path)
    if start in ("[", "{") or re.match(r'\[\s*[\[{]|\{\s*"rasa_nlu_data"', start):
        try:
            records = json.loads("\n".join(text for _, text in read_text_lines(path)))
            if isinstance(records, dict):
                records = records.get("rasa_nlu_data", {}).get("common_examples", [records])
        except (ValueError, RecursionError) as problem:
            raise ValueError(Errors.F119.format(path=path, problem=problem)) from None
        for number, record in enumerate(records, 1):
            yield f"of record {number}", record
        return
    for line, text in read_text_lines(path):
        if text.strip():
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as problem:
                words = {"layout": "a record", "problem": f"can't read it ({problem})"}
                raise ValueError(Errors.F156.format(path=path, line=line, **words)) from None
            yield line, record


def _first_line(path: Path) -> str:
    return next((text.strip() for _, text in read_text_lines(path) if text.strip()), "")
