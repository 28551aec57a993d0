"""Tables in the terminal."""

from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import east_asian_width

from wasabi.tables import table

_SECOND = "\0"  # column of a wide character, while wasabi counts characters


def print_table(rows: Iterable[Sequence[object]], **settings: Any) -> None:
    """Print a table whose columns are aligned also with Chinese characters, two columns wide.

    settings: of `wasabi.table`.
    """
    if header := settings.get("header"):
        settings["header"] = [_counted(cell) for cell in header]
    text = table([[_counted(cell) for cell in row] for row in rows], **settings)
    print(text.replace(_SECOND, ""))


def _counted(cell: object) -> str:
    """With as many characters as columns."""
    return "".join(char + _SECOND if east_asian_width(char) in "WF" else char for char in str(cell))
