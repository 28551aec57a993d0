"""Questions and their answers, from a table or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wasabi import msg

from ..corpora.cells import csv_lines, tab_lines
from ..errors import Errors, Warnings
from ..util.files import read_text_lines, suffix_of

# Names of the columns in a header, in any case.
QUESTION = ("question", "问题", "标准问题", "标准问", "用户问题", "提问", "标题")
ANSWER = ("answer", "答案", "回答", "标准答案", "标准答", "回复", "reply", "内容")
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")


class FaqEntry(NamedTuple):
    """A question, its other phrasings, and the columns to print with it."""

    question: str
    answer: str
    others: tuple[str, ...] = ()


def read_faq(path: Path, question: str = "", answer: str = "") -> list[FaqEntry]:
    """The questions of a file: lines split at TABs, or at commas or semicolons if its name ends in
    .csv, or JSON objects if it ends in .jsonl, whose question may be a list of phrasings. Skips
    empty lines.

    question, answer: names of columns, or keys of the objects. The first line of a table is a
        header if one of them is given, or if it has the usual names of both: a single usual name
        may be a question. Without a header, questions are in the first column.

    Warns (W333) if the questions of a table look like another column: they have no letter, or most
    are repeated.

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
    if read is read_table and not question:
        texts = [entry.question for entry in entries[1:] or entries]  # the first may be a header
        if not any(map(str.isalpha, "".join(texts))) or len({*texts}) < len(texts) / 2:
            msg.warn(Warnings.W333.format(path=path, text=texts[0]))
    return entries


def read_table(path: Path, question: str, answer: str) -> Iterator[FaqEntry]:
    """Warns (W330) of lines with one cell if others have several."""
    is_csv = suffix_of(path) == ".csv"
    lines = list((csv_lines if is_csv else tab_lines)(path))
    place, answer_place = 0, None
    if lines and (question or answer or has_usual_names(lines[0][1])):
        line, header = lines.pop(0)
        place, answer_place = find_columns(path, line, header, question, answer)
    single = [line for line, cells in lines if len(cells) == 1]
    if single and len(single) < len(lines):
        words = {"separator": "comma or semicolon" if is_csv else "TAB", "line": single[0]}
        msg.warn(Warnings.W330.format(path=path, count=len(single), **words))
    for line, cells in lines:
        answers = cells[place + 1 :] if answer_place is None else cells[answer_place:][:1]
        found = one_line("".join(cells[place : place + 1]))
        if not found:
            raise ValueError(Errors.F336.format(path=path, line=line, column=place + 1))
        yield FaqEntry(found, "  ".join(filter(None, map(str.strip, answers))))


def has_usual_names(cells: Sequence[str]) -> bool:
    names = {cell.strip().casefold() for cell in cells}
    return not names.isdisjoint(QUESTION) and not names.isdisjoint(ANSWER)


def find_columns(
    path: Path, line: int, header: Sequence[str], question: str, answer: str
) -> tuple[int, int | None]:
    """The places of question and answer, by the names given or the usual ones; None for all columns
    after the question. Raises ValueError (F390)."""
    places = {name.strip().casefold(): place for place, name in enumerate(header)}

    def find(names: Sequence[str], option: str) -> int:
        for name in names:
            if (place := places.get(name.strip().casefold())) is not None:
                return place
        words = {"name": names[0], "option": option, "columns": ", ".join(map(repr, header))}
        raise ValueError(Errors.F390.format(path=path, line=line, **words))

    has_answer = answer or not places.keys().isdisjoint(ANSWER)
    return (
        find([question] if question else QUESTION, "--question"),
        find([answer] if answer else ANSWER, "--answer") if has_answer else None,
    )


def read_records(path: Path, question: str, answer: str) -> Iterator[FaqEntry]:
    question_keys, answer_keys = (
        [question] if question else QUESTION,
        [answer] if answer else ANSWER,
    )
    names: dict[str, None] = {}  # of all records, in their order
    line = 0
    for line, text in read_text_lines(path):
        if not text.strip():
            continue
        entry = entry_of(text, question_keys, answer_keys, names)
        if entry is None:
            keys = {"question": question_keys[0], "answer": answer_keys[0]}
            raise ValueError(Errors.F337.format(path=path, line=line, **keys, text=text[:60]))
        yield entry
    if answer and names and answer.strip().casefold() not in names:
        words = {"name": answer, "option": "--answer", "columns": ", ".join(map(repr, names))}
        raise ValueError(Errors.F390.format(path=path, line=line, **words))


def entry_of(
    text: str, question_keys: Sequence[str], answer_keys: Sequence[str], names: dict[str, None]
) -> FaqEntry | None:
    """The entry of a record, or None if it has another form. Adds its keys to `names`."""
    try:
        record = {name.strip().casefold(): value for name, value in json.loads(text).items()}
    except (ValueError, AttributeError, RecursionError):
        return None
    names |= dict.fromkeys(record)
    asked, answer = value_of(record, question_keys), value_of(record, answer_keys)
    questions = asked if isinstance(asked, list) else [asked]
    answer = "" if answer is None else answer
    if not questions or not all(isinstance(each, str) for each in (*questions, answer)):
        return None
    first, *others = map(one_line, questions)
    return FaqEntry(first, answer.strip(), tuple(others)) if first and all(others) else None


def value_of(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first value under one of these names that isn't null."""
    found = (record.get(name.strip().casefold()) for name in names)
    return next((value for value in found if value is not None), None)


def one_line(text: str) -> str:
    return " ".join(text.split())
