"""Questions and their answers, from a table or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wasabi import msg

from ..corpora.cells import csv_lines, csv_separator, tab_lines
from ..errors import Errors, Warnings
from ..util.files import read_text_lines, suffix_of

# Names of the columns in a header, in any case.
QUESTION = ("question", "问题", "标准问题", "标准问", "用户问题", "提问")
ANSWER = ("answer", "答案", "回答", "标准答案", "标准答", "回复", "reply")

SEPARATORS = {"a TAB": "\t", "a comma": ",", "a semicolon": ";", "a |": "|"}
FULL_WIDTH = {"a full-width comma": "，"}  # separates no cells, but stands in many texts
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
FEW = 5  # line numbers to list


class FaqEntry(NamedTuple):
    """A question, its other phrasings, and the columns to print with it."""

    question: str
    answer: str
    others: tuple[str, ...] = ()


class FaqColumns(NamedTuple):
    """The columns of question and answer; None for all columns after the question."""

    question: int = 0
    answer: int | None = None


def read_faq(path: Path, question: str = "", answer: str = "") -> list[FaqEntry]:
    """The questions of a file: lines split at TABs, or at commas or semicolons if its name ends in
    .csv, or JSON objects if it ends in .jsonl, whose question may be a list of phrasings. Skips
    empty lines.

    question, answer: names of columns, or keys of the objects. The first line of a table is a
        header if one of them is given, or if it has the usual names of both: a single usual name
        may be a question.

    Warns (W333) if no question of a table has a letter, as when the first column has numbers.

    Raises ValueError for a .json file (F338), a spreadsheet (F353), a line without a question
    (F336, F337), a header or records without a column that was asked for (F390), quotes that can't
    be read (F152), and a file without questions (F010); otherwise as `read_text_lines`.
    """
    suffix = suffix_of(path)
    if suffix == ".json":
        raise ValueError(Errors.F338.format(path=path, name=f"{path.name.split('.')[0]}.jsonl"))
    if suffix in SPREADSHEETS:
        raise ValueError(Errors.F353.format(path=path))
    read = read_records if suffix == ".jsonl" else read_table
    entries = list(read(path, question, answer))
    if not entries:
        raise ValueError(Errors.F010.format(path=path, what="question"))
    # An unknown header may be the first question.
    texts = [entry.question for entry in entries[1:] or entries]
    if read == read_table and not question and not any(map(str.isalpha, "".join(texts))):
        msg.warn(Warnings.W333.format(path=path, text=texts[0]))
    return entries


def read_table(path: Path, question: str, answer: str) -> Iterator[FaqEntry]:
    """Warns as `warn_of_separators`."""
    separator, read, possible = "TAB", tab_lines, SEPARATORS
    if suffix_of(path) == ".csv":
        mark = csv_separator(text for _, text in read_text_lines(path))
        separator = "semicolon" if mark == ";" else "comma"
        read, possible = csv_lines, SEPARATORS | FULL_WIDTH
    lines = list(read(path))
    columns, header = FaqColumns(), 0
    if lines and (question or answer or has_usual_names(lines[0][1])):
        columns, header = find_columns(path, *lines[0], question, answer), 1
    for line, cells in lines[header:]:
        found = entry_of(cells, columns)
        if not found.question:
            where = {"path": path, "line": line, "column": columns.question + 1}
            raise ValueError(Errors.F336.format(**where, separators=f"{separator}s"))
        yield found
    warn_of_separators(path, separator, possible, lines, header)


def warn_of_separators(
    path: Path,
    separator: str,
    possible: Mapping[str, str],
    lines: Sequence[tuple[int, list[str]]],
    header: int,
) -> None:
    """Warns of lines with one cell if others have several (W330), or if each has a mark that may be
    meant as a separator (W331).

    header: the number of its lines, 0 or 1.
    """
    single = [line for line, cells in lines[header:] if len(cells) == 1]
    widest = max((len(cells) for _, cells in lines), default=0)
    if single and widest > 1:
        numbers = ", ".join(map(str, single[:FEW])) + " …" * (len(single) > FEW)
        which = f"line{'s' * (len(single) > 1)} {numbers}"
        msg.warn(Warnings.W330.format(path=path, separator=separator, lines=which))
    if len(single) > 1 and widest == 1:
        marks = [
            name
            for name, mark in possible.items()
            if name != f"a {separator}" and all(mark in cells[0] for _, cells in lines)
        ]
        if marks:
            other = " and ".join(sorted(marks))
            msg.warn(Warnings.W331.format(path=path, separator=separator, found=other))


def has_usual_names(cells: Sequence[str]) -> bool:
    names = {cell.strip().casefold() for cell in cells}
    return not names.isdisjoint(QUESTION) and not names.isdisjoint(ANSWER)


def find_columns(
    path: Path, line: int, header: Sequence[str], question: str, answer: str
) -> FaqColumns:
    """Where the columns are, by the names given or the usual ones. Raises ValueError (F390)."""
    places = {name.strip().casefold(): place for place, name in enumerate(header)}

    def find(names: Sequence[str], option: str) -> int:
        for name in names:
            if (place := places.get(name.strip().casefold())) is not None:
                return place
        words = {"name": names[0], "option": option, "columns": ", ".join(map(repr, header))}
        raise ValueError(Errors.F390.format(path=path, line=line, **words))

    has_answer = answer or not places.keys().isdisjoint(ANSWER)
    return FaqColumns(
        find([question] if question else QUESTION, "--question"),
        find([answer] if answer else ANSWER, "--answer") if has_answer else None,
    )


def entry_of(cells: Sequence[str], columns: FaqColumns) -> FaqEntry:
    """Cells that a line lacks are empty."""
    question, answer = columns
    answers = cells[question + 1 :] if answer is None else cells[answer : answer + 1]
    texts = map(str.strip, answers)
    return FaqEntry(
        one_line("".join(cells[question : question + 1])), "  ".join(filter(None, texts))
    )


def read_records(path: Path, question: str, answer: str) -> Iterator[FaqEntry]:
    keys = [question] if question else QUESTION, [answer] if answer else ANSWER
    names: dict[str, None] = {}  # of all records, in their order
    line = 0
    for line, text in read_text_lines(path):
        if not text.strip():
            continue
        try:
            record = {name.strip().casefold(): value for name, value in json.loads(text).items()}
            names |= dict.fromkeys(record)
            asked, own_answer = (value_of(record, usual) for usual in keys)
            found = [*(asked if isinstance(asked, list) else [asked])]
            found.append("" if own_answer is None else own_answer)
        except (ValueError, AttributeError, RecursionError):
            found = []
        if not all(isinstance(each, str) for each in found) or not all(
            map(str.strip, found[:-1] or [""])
        ):
            where = {"path": path, "line": line, "question": keys[0][0], "answer": keys[1][0]}
            raise ValueError(Errors.F337.format(**where, text=text[:60]))
        first, *others = map(one_line, found[:-1])
        yield FaqEntry(first, found[-1].strip(), tuple(others))
    if answer and names and answer.strip().casefold() not in names:
        words = {"name": answer, "option": "--answer", "columns": ", ".join(map(repr, names))}
        raise ValueError(Errors.F390.format(path=path, line=line, **words))


def value_of(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first value under one of these names that isn't null."""
    found = (record.get(name.strip().casefold()) for name in names)
    return next((value for value in found if value is not None), None)


def one_line(text: str) -> str:
    return " ".join(text.split())
