"""Tables in the terminal."""

from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import east_asian_width

from wasabi.tables import table

WIDEST = 80  # columns of the terminal; a longer cell would push the next one out of its column
_SECOND = "\0"  # the second column of a wide character: wasabi counts characters


def print_table(
    rows: Iterable[Sequence[object]], header: Sequence[str] = (), **settings: Any
) -> None:
    """Print a table. Its columns align even with Chinese characters, each two columns wide. Long
    cells are cut, except the last of a row.

    settings: `divider` and `aligns` of `wasabi.table`.
    """
    cells = [[*map(_cut, map(_counted, row[:-1])), _counted(row[-1])] for row in rows]
    text = table(cells, header=list(map(_counted, header)), max_col=WIDEST, **settings)
    print(text.replace(_SECOND, ""))


def _counted(cell: object) -> str:
    """The text of a cell, padded to one character per column of the terminal."""
    return "".join(char + _SECOND if east_asian_width(char) in "WF" else char for char in str(cell))


def _cut(counted: str) -> str:
    """A counted text of at most `WIDEST` columns, with "…" for what is missing."""
    if len(counted) <= WIDEST:
        return counted
    is_within_char = counted[WIDEST - 1] == _SECOND
    return counted[: WIDEST - 1 - is_within_char] + "…"
