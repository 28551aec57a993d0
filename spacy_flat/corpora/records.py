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
Line = int | str  # of a record; in an array with its number, since they may share a line

_SPACE = re.compile(r"\s*")


def parsed_records(path: Path, parse: Callable[[Any], T], layout: str) -> Iterator[tuple[Line, T]]:
    """Yield (line, parsed record) of each record.

    parse: raises ValueError that says what is wrong with a record.
    layout: the expected one, for errors.

    Raises ValueError (F156; F119 if an array can't be read to its end).
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
        yield from _array_items(path, "\n".join(text for _, text in read_text_lines(path)))
        return
    for line, text in read_text_lines(path):
        if text.strip():
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as problem:
                words = {"layout": "a record", "problem": f"can't read it ({problem})"}
                raise ValueError(Errors.F156.format(path=path, line=line, **words)) from None
            yield line, record


def _array_items(path: Path, text: str) -> Iterator[tuple[Line, Any]]:
    decoder = json.JSONDecoder()
    at = counted = text.index("[")
    line, number = 1 + text.count("\n", 0, at), 0
    while text[at] != "]":
        at = _skip(text, at + 1)
        line, counted = line + text.count("\n", counted, at), at
        number += 1
        where = f"{line} (record {number})"
        try:
            record, end = decoder.raw_decode(text, at)
            at = _skip(text, end)
            if text[at : at + 1] not in (",", "]"):
                raise ValueError("expected ',' or ']' after it")
        except (ValueError, RecursionError) as problem:
            raise ValueError(Errors.F119.format(path=path, line=where, problem=problem)) from None
        yield where, record
    if text[at + 1 :].strip():
        words = {"line": line, "problem": "the file continues after its end"}
        raise ValueError(Errors.F119.format(path=path, **words))


def _skip(text: str, at: int) -> int:
    """The index of the next character that isn't white space."""
    space = _SPACE.match(text, at)
    return space.end() if space else at


def check_characters(*texts: str) -> None:
    """Raise ValueError for a surrogate, which JSON can escape but UTF-8 can't encode."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            code = f"U+{ord(text[error.start]):04X}"
            raise ValueError(f"it has {code}, a surrogate without its other half") from None
