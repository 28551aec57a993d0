"""`python -m spacy flat search`: find similar questions in a file."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer
from wasabi import msg

from ..util.files import UTF_8, encoded_in
from ..util.messages import counted
from ._components import PAIRS, load_component
from ._faq import read_faq
from ._options import Component, Device, Encoding, Pipeline, check_folder

if TYPE_CHECKING:
    from ..similarity.component import PairClassifier
    from ..similarity.index import Entry, Match, TextIndex


def search(
    model: Pipeline,
    faq: Annotated[
        Path,
        typer.Argument(
            help="Questions, one per line, with the answer after a TAB; or .csv, .jsonl or .json, "
            'where a question may be a list of phrasings. A first line with the names "question" '
            'and "answer" says where they stand'
        ),
    ],
    queries: Annotated[list[str], typer.Argument(metavar="QUERY...", help="What to search for")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="Questions to show", min=1)] = 5,
    min_similarity: Annotated[
        float | None,
        typer.Option(
            "--min-similarity",
            "-m",
            help="Lowest similarity; default: the pipeline's",
            min=0,
            max=1,
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option("--index", "-i", help="Folder to save the index in for later calls"),
    ] = None,
    encoding: Encoding = UTF_8,
    component: Component = "",
    device: Device = "",
) -> None:
    """Find the questions of a file, such as an FAQ, that are most similar to each query."""
    from ..similarity.component import PairClassifier
    from ..similarity.index import FILE

    with encoded_in(encoding):
        entries = read_faq(faq)
    if len({tuple(entry.phrasings) for entry in entries}) * 2 < len(entries):
        msg.warn(f"{faq}: most questions are the same. Are they another column?")
    if index is not None:
        check_folder(index, FILE)
    _, pipe = load_component(model, PairClassifier, component, device, PAIRS)
    found = index_of(pipe, entries, index)
    least = pipe.min_similarity if min_similarity is None else min_similarity
    for query in queries:
        msg.divider(query)
        nearest = found.search(query, top_k, min_similarity=0)
        matches = [match for match in nearest if match.similarity >= least or not least]
        if nearest and not matches:
            msg.text(f"None of {least:.3f} or more. The nearest:")
        for match in matches or nearest[:1]:
            show(match)


def show(match: Match) -> None:
    typer.echo(f"{match.similarity:.3f}  {match.text}")
    if match.answer:
        typer.echo(indent(match.answer, " " * 7))


def index_of(pipe: PairClassifier, entries: list[Entry], folder: Path | None) -> TextIndex:
    """The folder's index, if it fits these questions and this pipeline; otherwise a new one, saved
    there."""
    asked = [entry.phrasings for entry in entries]
    answers = [entry.answer for entry in entries]
    if folder is None:
        return pipe.index(asked, answers)
    try:
        found = pipe.load_index(folder)
        if found.questions == entries:
            return found
        msg.warn(f"{folder}: the index is of other questions. It is made again now.")
    except FileNotFoundError:
        pass
    except ValueError as error:
        msg.warn(str(error), "It is made again now.")
    found = pipe.index(asked, answers)
    found.save(folder)
    msg.good(f"{folder}: index of {counted(len(entries), 'question')}")
    return found
