"""Questions and their answers, from a table or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wasabi import msg

from ..corpora.records import csv_lines, tab_lines
from ..errors import Errors, Warnings
from ..util.files import read_text_lines, suffix_of

# Names of the columns in a header, in any case.
QUESTION = ("question", "问题", "标准问题", "标准问", "用户问题", "提问", "标题")
ANSWER = ("answer", "答案", "回答", "标准答案", "标准答", "回复", "reply", "内容")
# Files that can't be read, and how to save them.
UNREADABLE = {".json": "one JSON object per line, as .jsonl"} | dict.fromkeys(
    (".xlsx", ".xlsm", ".xls", ".ods"), "CSV in UTF-8"
)

Rows = Iterator[tuple[int, dict[str, Any]]]  # line and values by column


class FaqEntry(NamedTuple):
    """A question, its other phrasings, and the columns to print with it."""

    question: str
    answer: str
    others: tuple[str, ...] = ()


def read_faq(path: Path, question: str = "", answer: str = "") -> list[FaqEntry]:
    """The questions of a file: lines split at TABs, or at commas if its name ends in
    .csv, or JSON objects if it ends in .jsonl, whose question may be a list of phrasings. Skips
    empty lines.

    question, answer: names of columns, or keys of the objects. The first line of a table is a
        header if one of them is given, or if it has the usual names of both: a single usual name
        may be a question. If there are two columns, the one that isn't `question` has the answers.
        Without a header, questions are in the first of two columns; more may only be in some lines,
        as parts of the answer.

    Warns (W333) if the questions of a table look like another column: they have no letter, or most
    are repeated; and (W334) if its first line looks like a header: all others are longer.

    Raises ValueError for a file of another kind (F353), a line without a question (F336), a file
    without a column that was asked for, or of three columns or more without a header (F390), quotes
    that can't be read (F152), and a file without questions (F010); otherwise as `read_text_lines`.
    """
    suffix = suffix_of(path)
    if suffix in UNREADABLE:
        raise ValueError(Errors.F353.format(path=path, wanted=UNREADABLE[suffix]))
    rows = read_records(path) if suffix == ".jsonl" else read_table(path, question, answer)
    questions, answers = names_of(question, QUESTION), names_of(answer, ANSWER)
    entries = []
    columns: dict[str, None] = {}
    for line, row in rows:
        columns |= dict.fromkeys(row)
        if suffix != ".jsonl":
            require_column(path, questions, "--question", columns)
        entry = entry_of(row, questions, answers)
        if entry is None:
            words = {"question": questions[0], "answer": answers[0]}
            raise ValueError(Errors.F336.format(path=path, line=line, **words))
        entries.append(entry)
    if not entries:
        raise ValueError(Errors.F010.format(path=path, what="question"))
    if answer:
        require_column(path, answers, "--answer", columns)
    if suffix != ".jsonl" and not question:
        texts = [entry.question for entry in entries[1:] or entries]  # the first may be a header
        if not any(map(str.isalpha, "".join(texts))) or len({*texts}) < len(texts) / 2:
            msg.warn(Warnings.W333.format(path=path, text=texts[0]))
        elif not answer and is_like_header(entries):
            msg.warn(Warnings.W334.format(path=path, first=entries[0].question))
    return entries


def is_like_header(entries: Sequence[FaqEntry]) -> bool:
    """Whether all other questions, two or more, and their answers are longer than the first."""
    (question, answer, _), *others = entries
    return (
        0 < len(answer) < min((len(each.answer) for each in others if each.answer), default=0)
        and len(question) <= min(len(each.question) for each in others)
        and len(others) > 1
    )


def names_of(name: str, usual: Sequence[str]) -> Sequence[str]:
    return [folded(name)] if name else usual


def folded(name: str) -> str:
    return name.strip().casefold()


def require_column(path: Path, names: Sequence[str], option: str, columns: dict[str, None]) -> None:
    """Raises ValueError (F390) unless one of the names is a column."""
    if columns.keys().isdisjoint(names):
        words = {"name": names[0], "option": option, "columns": ", ".join(map(repr, columns))}
        raise ValueError(Errors.F390.format(path=path, **words))


def read_table(path: Path, question: str, answer: str) -> Rows:
    lines = list((csv_lines if suffix_of(path) == ".csv" else tab_lines)(path))
    header = [folded(cell) for cell in lines[0][1]] if lines else []
    if question or answer or (set(header) & set(QUESTION) and set(header) & set(ANSWER)):
        if len(header) == 2 and folded(question) in header and not answer:
            header[1 - header.index(folded(question))] = ANSWER[0]
        for line, cells in lines[1:]:
            yield line, dict(zip(header, [*cells, *[""] * len(header)], strict=False))
    else:
        if min((len(cells) for _, cells in lines), default=0) > 2:  # which are the questions?
            require_column(path, QUESTION, "--question", dict.fromkeys(lines[0][1]))
        for line, cells in lines:
            yield (
                line,
                {
                    QUESTION[0]: cells[0],
                    ANSWER[0]: "  ".join(filter(None, map(str.strip, cells[1:]))),
                },
            )


def read_records(path: Path) -> Rows:
    for line, text in read_text_lines(path):
        if text.strip():
            try:
                record = {folded(name): value for name, value in json.loads(text).items()}
            except (ValueError, AttributeError, RecursionError):
                record = {}
            yield line, record


def entry_of(
    row: dict[str, Any], questions: Sequence[str], answers: Sequence[str]
) -> FaqEntry | None:
    """The entry of a row, or None if it has another form."""
    asked, answer = (
        next((row[name] for name in names if row.get(name) is not None), "")
        for names in (questions, answers)
    )
    asked = asked if isinstance(asked, list) else [asked]
    if not asked or not all(isinstance(each, str) for each in (*asked, answer)):
        return None
    first, *others = (" ".join(each.split()) for each in asked)
    return FaqEntry(first, answer.strip(), tuple(others)) if first and all(others) else None
