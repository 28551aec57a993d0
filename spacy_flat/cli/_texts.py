"""Texts from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import Errors
from ..util.files import read_text_lines


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file without white space at their ends."""
    return (line.strip() for _, line in read_text_lines(path))


def check_output(path: Path, suffix: str) -> None:
    """Raise ValueError (F146) for a picture of another suffix."""
    if path.suffix != suffix:
        raise ValueError(Errors.F146.format(path=path, suffix=suffix))
