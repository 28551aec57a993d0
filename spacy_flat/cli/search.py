"""`python -m spacy flat search`: the questions of a file that are most like another one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from wasabi import msg

from ..errors import Errors
from ..files import read_text_lines
from ..wording import counted
from ._pairs import load_classifier

if TYPE_CHECKING:
    from ..similarity.component import PairClassifier
    from ..similarity.index import TextIndex


class Entry(NamedTuple):
    """A question, and what is printed with it."""

    question: str
    answer: str


def search(
    model: Annotated[str, typer.Argument(help="Pipeline package or folder")],
    faq: Annotated[
        Path,
        typer.Argument(
            help="Questions, one a line, with the answer behind a TAB; or .jsonl with "
            '"question" and "answer"'
        ),
    ],
    queries: Annotated[list[str], typer.Argument(metavar="QUERY...", help="What to search for")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="Questions to show", min=1)] = 5,
    candidates: Annotated[
        int,
        typer.Option(
            "--candidates", "-n", help="Questions that the network compares a query with", min=1
        ),
    ] = 50,
    index: Annotated[
        Path | None,
        typer.Option("--index", "-i", help="Folder to keep the index in, for the next call"),
    ] = None,
    component: Annotated[
        str, typer.Option("--component", "-c", help="The component that compares, if several can")
    ] = "",
) -> None:
    """Search questions, such as an FAQ's, for those that are most like another one."""
    entries = read_faq(faq)
    if index is not None:
        check_folder(index)
    _, pipe = load_classifier(model, component)
    found = index_of(pipe, [entry.question for entry in entries], index)
    header = ("similarity", "question", "answer")
    columns = 3 if any(entry.answer for entry in entries) else 2
    for query in queries:
        msg.divider(query)
        matches = found.search(query, top_k, candidates)
        rows = [(f"{match.similarity:.3f}", *entries[match.number])[:columns] for match in matches]
        msg.table(rows, header=header[:columns], divider=True)


def read_faq(path: Path) -> list[Entry]:
    """The questions of a file of lines, or of JSON lines where its name ends in .jsonl; lines that
    are empty are left out. Columns behind the second belong to the answer.

    Raises ValueError for a line without a question (F336, F337) and a file without any (F339);
    otherwise as `read_text_lines`.
    """
    read = read_record if ".jsonl" in path.suffixes[-2:] else read_row
    lines = read_text_lines(path)
    entries = [read(path, number, line) for number, line in lines if line.strip()]
    if not entries:
        raise ValueError(Errors.F339.format(path=path))
    return entries


def read_row(path: Path, number: int, line: str) -> Entry:
    question, _, answer = line.partition("\t")
    if not question.strip():
        raise ValueError(Errors.F336.format(path=path, line=number))
    return Entry(question.strip(), answer.replace("\t", "  ").strip())


def read_record(path: Path, number: int, line: str) -> Entry:
    try:
        record = json.loads(line)
        question, answer = record["question"], record.get("answer", "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        question = answer = None
    if not isinstance(question, str) or not question.strip() or not isinstance(answer, str):
        raise ValueError(Errors.F337.format(path=path, line=number, text=line[:60]))
    return Entry(question.strip(), answer.strip())


def check_folder(path: Path) -> None:
    """Raises ValueError (F148) where something else than an index is there."""
    from ..similarity.index import FILE

    if path.is_file() or (path.is_dir() and any(path.iterdir()) and not (path / FILE).exists()):
        raise ValueError(Errors.F148.format(path=path))


def index_of(pipe: PairClassifier, questions: Sequence[str], folder: Path | None) -> TextIndex:
    """The index in a folder, if it is of these questions and this pipeline. Otherwise a new one,
    which is saved there."""
    found = saved_index(pipe, questions, folder) if folder else None
    if found is not None:
        return found
    found = pipe.index(questions)
    if folder:
        found.save(folder)
        msg.good(f"{folder}: index of {counted(len(questions), 'question')}")
    return found


def saved_index(pipe: PairClassifier, questions: Sequence[str], folder: Path) -> TextIndex | None:
    """The index in a folder, if there is one; None, with a warning, where it can't be used."""
    try:
        found = pipe.load_index(folder)
    except FileNotFoundError:
        return None
    except ValueError as error:
        msg.warn(str(error), "It is made again now.")
        return None
    if found.texts != list(questions):
        msg.warn(f"{folder}: the index is of other questions. It is made again now.")
        return None
    return found
