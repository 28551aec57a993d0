"""Reading text files strictly, and writing files wholly or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which becomes `path` where nothing is raised.

    So `path` is always the old file or the whole new one. Its folder is made where it is missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
