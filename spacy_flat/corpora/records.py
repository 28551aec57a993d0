"""JSON files: one record per line, or one array of all records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ..errors import Errors
from ..util.files import read_text_lines

T = TypeVar("T")
Line = int | str  # of a record; of one in an array, its number


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
    characters = (char for _, text in read_text_lines(path) for char in text if not char.isspace())
    return "".join(islice(characters, 3)).startswith(('{"', '[{"', '["', '[["'))


def read_records(path: Path) -> Iterator[tuple[Line, Any]]:
    """Yield (line, record) of each record. Raises ValueError (F119, F156)."""
    start = next((text.strip() for _, text in read_text_lines(path) if text.strip()), "")
    if start == "[" or re.match(r"\[\s*[\[{]", start):
        try:
            records = json.loads("\n".join(text for _, text in read_text_lines(path)))
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


def check_characters(*texts: str) -> None:
    """Raise ValueError for a surrogate, which JSON can escape but UTF-8 can't encode."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            code = f"U+{ord(text[error.start]):04X}"
            raise ValueError(f"it has {code}, a surrogate without its other half") from None
