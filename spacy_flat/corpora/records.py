"""JSON files: one record a line, or one array of all records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ..errors import Errors
from ..util.files import read_text_lines
from .repairs import Repairs

T = TypeVar("T")


class RecordLine(int):
    """The line of a record in an array, shown with the record's number from 1, since a whole array
    may be on one line."""

    record: int

    def __new__(cls, line: int, record: int) -> RecordLine:
        made = super().__new__(cls, line)
        made.record = record
        return made

    def __str__(self) -> str:
        return f"{int(self)} (record {self.record})"


_SPACE = re.compile(r"\s*")


def parsed_records(
    path: Path, repairs: Repairs, parse: Callable[[Any], T], layout: str
) -> Iterator[tuple[int, T]]:
    """Yield (line, what `parse` makes of the record) of each record.

    parse: raises ValueError that says what is wrong with a record.
    layout: the expected one, for errors.

    Raises ValueError (F004, F119, F156).
    """
    for line, raw in read_records(path):
        repairs.n_lines += 1
        try:
            parsed = parse(load(raw))
        except ValueError as problem:
            error = Errors.F156.format(path=path, line=line, layout=layout, problem=problem)
            repairs.count("malformed record dropped", error)
        else:
            yield line, parsed


def first_record(path: Path) -> Any:
    """The first record, or None if it is not JSON."""
    _, raw = next(read_records(path))
    try:
        return load(raw)
    except ValueError:
        return None


def has_objects(path: Path) -> bool:
    """Whether a file begins with a JSON object, by itself or in an array."""
    return opening(path).startswith(('{"', '[{"'))


def read_records(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, JSON) of each record, from a line each or from one array of them all
    (`RecordLine`).

    Raises ValueError (F119) where an array cannot be read to its end; otherwise as
    `read_text_lines`.
    """
    if opening(path).startswith(("[{", "[[")):
        yield from _array_items(path, "\n".join(text for _, text in read_text_lines(path)))
        return
    for line, text in read_text_lines(path):
        if text.strip():
            yield line, text


def opening(path: Path) -> str:
    """The first three characters of a file that are not white space."""
    characters = (char for _, text in read_text_lines(path) for char in text if not char.isspace())
    return "".join(islice(characters, 3))


def _array_items(path: Path, text: str) -> Iterator[tuple[int, str]]:
    decoder = json.JSONDecoder()
    line, record = 1, 0
    last = 0  # where `line` was counted
    place = text.index("[")
    while text[place] != "]":
        place = _skip(text, place + 1)
        line += text.count("\n", last, place)
        last = place
        record += 1
        try:
            _, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as problem:
            raise _array_fault(path, text, place, problem.msg, record) from None
        except RecursionError:
            reason = "it is nested too deeply"
            raise _array_fault(path, text, place, reason, record) from None
        yield RecordLine(line, record), text[place:end]
        place = _skip(text, end)
        if text[place : place + 1] not in (",", "]"):
            raise _array_fault(path, text, place, "Expecting ',' or ']'", record)
    place = _skip(text, place + 1)
    if place < len(text):
        raise _array_fault(path, text, place, "it has ended, but the file goes on", record)


def _array_fault(path: Path, text: str, place: int, problem: str, record: int) -> ValueError:
    line = RecordLine(1 + text.count("\n", 0, place), record)
    return ValueError(Errors.F119.format(path=path, line=line, problem=problem))


def _skip(text: str, place: int) -> int:
    """The place of the next character that is not white space."""
    space = _SPACE.match(text, place)
    return space.end() if space else place


def load(raw: str) -> Any:
    """The JSON of a record. Raises ValueError that says what is wrong."""
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def check_characters(*texts: str) -> None:
    """Raise ValueError for a surrogate, which JSON can escape but UTF-8 can't encode."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            code = f"U+{ord(text[error.start]):04X}"
            raise ValueError(f"it has {code}, a surrogate without its other half") from None
