"""Search 100,000 questions: what an index costs, how fast it is, and what BM25 misses.

    python benchmarks/search.py PIPELINE --data ../shared/data/match_zh [--markdown]

PIPELINE has a `re2_similarity`. --data is a folder of pairs of questions, afqmc, atec, bq and
lcqmc, as they are released. The index is of their distinct questions, in random order. Queries are
questions of pairs that mean the same, and are not in the index; the other question of the pair is.

Recall is the share of the queries whose other question is among the candidates of BM25 alone. Much
of what else is among them means the same, too, though nobody has said
so: afqmc, atec and bq ask about few things in many words.

All runs in one thread. Milliseconds are those of the processor, since others may use the machine,
with those of the clock behind them.
"""

import argparse
import csv
import random
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import numpy as np
import spacy
import torch
from report import environment, format_table

from spacy_flat.similarity.candidates import Candidates, best_of, terms_of
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.index import TextIndex

Result = TypeVar("Result")

FILES = {
    "afqmc": ["train.txt", "dev.txt"],
    "lcqmc": ["dev.txt"],
    "bq": ["dev.csv", "test.csv"],
    "atec": ["train.csv"],
}
SEARCHED = ("afqmc", "lcqmc", "bq")  # the corpora that queries come from
DEPTHS = (50, 200)  # candidates


class Pair(NamedTuple):
    corpus: str
    left: str
    right: str
    is_same: bool


class Task(NamedTuple):
    """The questions of an index, and by corpus (query, number of the other question)."""

    questions: list[str]
    queries: dict[str, list[tuple[str, int]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1000, help="of each corpus, for the recall")
    parser.add_argument("--searches", type=int, default=200, help="that are timed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(*(f"{name} {value}" for name, value in environment().items()), sep=", ")

    pairs = [pair for corpus in FILES for pair in read_pairs(arguments.data, corpus)]
    task = make_task(pairs, arguments.questions, arguments.queries, arguments.seed)
    lengths = [len(question) for question in task.questions]
    print(f"{len(task.questions):,} questions of {np.mean(lengths):.1f} characters\n")

    print_recall(task, arguments.markdown)
    nlp = spacy.load(arguments.pipeline)
    (pipe,) = (pipe for _, pipe in nlp.pipeline if isinstance(pipe, PairClassifier))
    index = print_costs(pipe, task.questions)
    queries = [query for own in task.queries.values() for query, _ in own]
    random.Random(arguments.seed).shuffle(queries)
    print_speed(index, queries[: arguments.searches], arguments.markdown)


# Questions


def read_pairs(data: Path, corpus: str) -> Iterator[Pair]:
    for name in FILES[corpus]:
        path = data / corpus / name
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows: Any = csv.reader(file)
            if path.suffix == ".txt":
                rows = (line.rstrip("\r\n").split("\t") for line in file)
            for row in rows:
                *_, left, right, label = ["", ""] + [cell.strip("\ufeff ") for cell in row]
                if label in ("0", "1"):  # else a header
                    yield Pair(corpus, left, right, label == "1")


def make_task(pairs: list[Pair], n_questions: int, n_queries: int, seed: int) -> Task:
    draw = random.Random(seed)
    chosen = {}
    for corpus in SEARCHED:
        same = [pair for pair in pairs if pair.corpus == corpus and pair.is_same]
        distinct = [pair for pair in same if pair.left != pair.right]
        chosen[corpus] = draw.sample(distinct, min(n_queries, len(distinct)))
    asked = {pair.left for own in chosen.values() for pair in own}
    wanted = {pair.right for own in chosen.values() for pair in own}
    texts = dict.fromkeys(text for pair in pairs for text in (pair.left, pair.right))
    others = [text for text in texts if text not in asked and text not in wanted]
    draw.shuffle(others)
    questions = [*sorted(wanted), *others][:n_questions]
    draw.shuffle(questions)
    numbers = {question: number for number, question in enumerate(questions)}
    return Task(
        questions,
        {
            corpus: [(pair.left, numbers[pair.right]) for pair in own]
            for corpus, own in chosen.items()
        },
    )


# Recall


def print_recall(task: Task, markdown: bool) -> None:
    """The share of the other questions that are among the candidates, in percent."""
    candidates, build, _ = clock(lambda: Candidates.of(map(terms_of, task.questions)))
    cells, used = [f"{build:.1f}"], []
    for own in task.queries.values():
        found = [clock(lambda query=query: candidates.scores(terms_of(query))) for query, _ in own]
        used += [seconds for _, seconds, _ in found]
        for depth in DEPTHS:
            hits = [
                number in best_of(scores, depth)
                for (_, number), (scores, *_) in zip(own, found, strict=True)
            ]
            cells.append(f"{100 * np.mean(hits):.1f}")
    header = [f"{corpus} {depth}" for corpus in task.queries for depth in DEPTHS]
    rows = [[*cells, f"{1000 * np.median(used):.1f}"]]
    print(format_table(["build s", *header, "ms"], rows, markdown, text_columns=0), end="\n\n")


# Costs


def print_costs(pipe: PairClassifier, questions: list[str]) -> TextIndex:
    before = peak_memory()
    index, seconds, by_clock = clock(lambda: pipe.index(questions))
    arrays = index.contents.encoded.arrays
    sizes = ", ".join(f"{name} {size_of({name: array}):.1f}" for name, array in arrays.items())
    print(
        f"build   {seconds:6.1f} s ({by_clock:.1f}), peak memory + {peak_memory() - before:.0f} MB"
    )
    print(f"arrays  {size_of(arrays):6.0f} MB: {sizes}")
    with TemporaryDirectory() as folder:
        _, seconds, by_clock = clock(lambda: index.save(folder))
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        print(f"save    {seconds:6.1f} s ({by_clock:.1f}), {size:.0f} MB")
        loaded, seconds, by_clock = clock(lambda: pipe.load_index(folder))
        print(f"load    {seconds:6.1f} s ({by_clock:.1f})\n")
    return loaded


def print_speed(index: TextIndex, queries: list[str], markdown: bool) -> None:
    """Milliseconds of a search, with and without the network, and of comparing the query with the
    same candidates by `predict_pairs`, which encodes them again."""
    weights, rows = list(index.ranking), []
    asking, silent = [1.0, *weights[1:]], [0.0, *weights[1:]]

    def search(query: str, depth: int, ranking: list[float]) -> None:
        index.ranking = ranking
        index.search(query, candidates=depth)

    for depth in DEPTHS:
        pairs = [
            [(query, match.text) for match in index.search(query, depth, depth)]
            for query in queries
        ]
        ways = {
            "search": [partial(search, query, depth, silent) for query in queries],
            "search with the network": [partial(search, query, depth, asking) for query in queries],
            "predict_pairs": [partial(index.pipe.predict_pairs, some) for some in pairs],
        }
        for name, calls in ways.items():
            times = [clock(call)[1:] for call in calls]
            middle, high = (1000 * np.percentile(times, share, axis=0) for share in (50, 95))
            cells = [f"{cpu:.0f} ({wall:.0f})" for cpu, wall in (middle, high)]
            rows.append([f"{name}, {depth} candidates", *cells])
    print(format_table(["", "median ms", "95th percentile"], rows, markdown))


def clock(function: Callable[[], Result]) -> tuple[Result, float, float]:
    """What a function returns, and its seconds of the processor and by the clock."""
    start, start_cpu = time.perf_counter(), time.thread_time()
    result = function()
    return result, time.thread_time() - start_cpu, time.perf_counter() - start


def size_of(arrays: dict[str, Any]) -> float:
    """Megabytes."""
    return sum(array.nbytes for array in arrays.values()) / 1e6


def peak_memory() -> float:
    """Megabytes of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
