"""Tables in the terminal."""

from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import east_asian_width

from wasabi.tables import table

WIDEST = 80  # columns of the terminal up to which cells are aligned; longer ones stay whole
_SECOND = "\0"  # the second column of a wide character: wasabi counts characters


def print_table(
    rows: Iterable[Sequence[object]], header: Sequence[str] = (), **settings: Any
) -> None:
    """Print a table. Its columns align even with Chinese characters, each two columns wide.

    settings: `divider` and `aligns` of `wasabi.table`.
    """
    counted = [[_counted(cell) for cell in row] for row in rows]
    text = table(counted, header=list(map(_counted, header)), max_col=WIDEST, **settings)
    print(text.replace(_SECOND, ""))


def _counted(cell: object) -> str:
    """The text of a cell, padded to one character per column of the terminal."""
    return "".join(char + _SECOND if east_asian_width(char) in "WF" else char for char in str(cell))
