"""Reading text files strictly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import Errors
from .sentence import CorpusError


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text without its line end) of each line of a UTF-8 file.

    Only "\\n" and "\\r\\n" end a line: U+2028 or U+0085 may be a unit of a corpus. A byte order
    mark is dropped on any line, since files that were joined have some within.

    Raises CorpusError (F100) at the first byte that is not UTF-8.
    """
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"0x{raw[error.start]:02x}"
                raise CorpusError(
                    Errors.F100.format(path=path, line=number, byte=byte, offset=error.start)
                ) from None
            yield number, text.rstrip("\r\n").lstrip("\ufeff")
