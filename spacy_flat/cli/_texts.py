"""Texts from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import Errors
from ..util.files import read_text_lines


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file without white space at their ends."""
    return (line.strip() for _, line in read_text_lines(path))


def check_text(content: str) -> None:
    """Raise ValueError for a text to draw that is empty (F160) or not valid Unicode (F162)."""
    if not content:
        raise ValueError(Errors.F160)
    try:
        content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(Errors.F162.format(text=content[:60])) from error


def check_output(path: Path, suffix: str) -> None:
    """Raise ValueError (F146) for a picture of another suffix."""
    if path.suffix != suffix:
        raise ValueError(Errors.F146.format(path=path, suffix=suffix))
