"""Search 100,000 questions: what an index costs, and how fast it is.

    python benchmarks/search.py PIPELINE ../shared/data/match_zh/*/*.txt

PIPELINE has a `re2_similarity`. The questions are the distinct cells of files of pairs, split at
TABs or commas, in random order; others of them are searched for.

All runs in one thread. Milliseconds are those of the processor, since others may use the machine,
with those of the clock behind them.
"""

import argparse
import random
import re
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import spacy
import torch
from report import environment, format_table

from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.index import TextIndex

Result = TypeVar("Result")

DEPTHS = (50, 200)  # candidates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=200)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(*(f"{name} {value}" for name, value in environment().items()), sep=", ")
    texts = read_questions(arguments.files)
    random.Random(1).shuffle(texts)
    questions = texts[: arguments.questions]
    # Without others, some of those in the index.
    queries = (texts[len(questions) :] + questions)[: arguments.searches]
    print(f"{len(questions):,} questions of {np.mean([*map(len, questions)]):.1f} characters\n")
    nlp = spacy.load(arguments.pipeline)
    (pipe,) = (pipe for _, pipe in nlp.pipeline if isinstance(pipe, PairClassifier))
    print_speed(print_costs(pipe, questions), queries)


def read_questions(files: list[Path]) -> list[str]:
    lines = (line for file in files for line in file.read_text("utf-8-sig").splitlines())
    cells = (cell.strip('\ufeff" ') for line in lines for cell in re.split("[\t,]", line))
    return [cell for cell in dict.fromkeys(cells) if len(cell) > 2 and not cell.isascii()]


def print_costs(pipe: PairClassifier, questions: list[str]) -> TextIndex:
    before = peak_memory()
    index, seconds, by_clock = clock(lambda: pipe.index(questions))
    memory = peak_memory() - before
    print(f"build   {seconds:6.1f} s ({by_clock:.1f}), peak memory + {memory:.0f} MB")
    with TemporaryDirectory() as folder:
        _, seconds, by_clock = clock(lambda: index.save(folder))
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        print(f"save    {seconds:6.1f} s ({by_clock:.1f}), {size:.0f} MB")
        loaded, seconds, by_clock = clock(lambda: pipe.load_index(folder))
        print(f"load    {seconds:6.1f} s ({by_clock:.1f})\n")
    return loaded


def print_speed(index: TextIndex, queries: list[str]) -> None:
    """Milliseconds of a search."""
    rows = []
    for depth in DEPTHS:
        times = [clock(partial(index.search, query, candidates=depth))[1:] for query in queries]
        middle, high = (1000 * np.percentile(times, share, axis=0) for share in (50, 95))
        cells = [f"{cpu:.0f} ({wall:.0f})" for cpu, wall in (middle, high)]
        rows.append([f"{depth} candidates", *cells])
    print(format_table(["", "median ms", "95th percentile"], rows))


def clock(function: Callable[[], Result]) -> tuple[Result, float, float]:
    """What a function returns, and its seconds of the processor and by the clock."""
    start, start_cpu = time.perf_counter(), time.thread_time()
    result = function()
    return result, time.thread_time() - start_cpu, time.perf_counter() - start


def peak_memory() -> float:
    """Megabytes of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
