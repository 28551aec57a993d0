"""Questions and their answers, from a table or JSON lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..corpora.records import Line, csv_lines, read_records, tab_lines
from ..errors import Errors
from ..similarity.index import Entry
from ..util.files import suffix_of

# Names of the columns in a header, in any case, or of the keys.
QUESTION = ("question", "问题", "标准问题", "提问")
ANSWER = ("answer", "答案", "标准答案", "回答", "回复")

Rows = Iterator[tuple[Line, Any]]  # line and values by column


def read_faq(path: Path) -> list[Entry]:
    """The questions of a file: JSON objects if its name ends in .jsonl or .json, whose question may
    be a list of phrasings; otherwise lines split at TABs, or as CSV if it ends in .csv. Skips empty
    lines. Raises as `read_records`, `read_table`, `entry_of` and `read_text_lines`, and ValueError
    (F010) for a file without questions."""
    rows = read_records(path) if suffix_of(path) in (".jsonl", ".json") else read_table(path)
    entries = [entry_of(path, line, row) for line, row in rows]
    if not entries:
        raise ValueError(Errors.F010.format(path=path, what="question"))
    return entries


def read_table(path: Path) -> Rows:
    """The first line is a header if it names both columns, or the question as a later one. Without
    a header, the question comes first, then the answer.

    Raises ValueError if it isn't clear which column the questions are (F390), and for wrong quotes
    (F152).
    """
    lines = (csv_lines if suffix_of(path) == ".csv" else tab_lines)(path)
    names = [QUESTION[0], ANSWER[0]]
    for number, (line, cells) in enumerate(lines):
        folded = [cell.strip().casefold() for cell in cells]
        later = {*folded[1:]} & {*QUESTION}
        both = {*folded} & {*QUESTION} and {*folded} & {*ANSWER}
        is_header = number == 0 and bool(later or both)
        if is_header:
            names = folded
        if len(cells) > len(names) or sum(name in QUESTION for name in names) != 1:
            raise ValueError(Errors.F390.format(path=path, line=line))
        if not is_header:
            yield line, dict(zip(names, cells, strict=False))


def entry_of(path: Path, line: Line, row: Any) -> Entry:
    """Raises ValueError (F336) for a row without a question, or with values that aren't texts. A
    question has a letter: numbers are another column."""
    row = row if isinstance(row, dict) else {}
    asked, answer = (
        next((row[name] for name in names if row.get(name)), "") for names in (QUESTION, ANSWER)
    )
    asked = asked if isinstance(asked, list) else [asked]
    if not all(isinstance(text, str) for text in (*asked, answer)) or not all(
        any(map(str.isalpha, text)) for text in asked
    ):
        raise ValueError(Errors.F336.format(path=path, line=line))
    return Entry([" ".join(text.split()) for text in asked], answer.strip())
