"""Measure `python -m spacy flat annotate` beside `nlp.pipe`.

    python benchmarks/annotate.py PIPELINE [--rows 2000] [--cheap 100000] [--markdown]
    python benchmarks/annotate.py assets/pipelines/zh_flat_msra-0.1.0-py3-none-any.whl

- Rows a second of the pipeline (a folder or a wheel) with `nlp.pipe`, with `n_process=2`, and with
  1 and 2 actors. One thread each. What comes before the first rows is left out: it is given by
  itself, as the start.
- The overhead: the same with a pipeline that has a tokenizer only, so that nearly all is reading,
  writing and Ray's, and with shards of one row, where nearly all is Ray's.
- Memory: the resident set of the driver and of the largest actor after each tenth of the rows of
  the tokenizer's pipeline. Every text has words that no other has.
- What a billion sentences cost by these figures.

The texts are sentences of assets/release/msra.jsonl, each with a number of its own. It needs Linux.
"""

import argparse
import json
import os
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import spacy
import torch
from report import environment, format_table, write_json

from spacy_flat.annotate.run import Cluster, run
from spacy_flat.annotate.settings import Settings

SENTENCES = Path(__file__).parents[1] / "assets/release/msra.jsonl"
ACTOR = b"ray::MapWorker"
MEGABYTE = 1 << 20
BILLION = 10**9


@dataclass
class Clock:
    """When how many rows were done, and the memory of driver and largest actor at tenths.

    times: seconds since it was made, and rows. memory: rows, megabytes of the driver, of the actor.
    """

    begin: float = field(default_factory=time.perf_counter)
    times: list[tuple[float, int]] = field(default_factory=list)
    memory: list[tuple[int, int, int]] = field(default_factory=list)

    def watch(self, done: int, total: int) -> None:
        self.times.append((time.perf_counter() - self.begin, done))
        if done * 10 >= (len(self.memory) + 1) * total:
            actors = [resident(pid) for pid in actors_alive()]
            self.memory.append((done, resident("self"), max(actors, default=0)))

    @property
    def start(self) -> float:
        """Seconds before the first rows were done."""
        return next(seconds for seconds, done in self.times if done)

    @property
    def rate(self) -> float:
        """Rows a second after the first rows."""
        (start, first), (end, last) = (
            next(each for each in self.times if each[1]),
            self.times[-1],
        )
        return (last - first) / (end - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", type=Path, help="folder or wheel")
    parser.add_argument("--rows", type=int, default=2000, help="texts for the pipeline")
    parser.add_argument("--cheap", type=int, default=100_000, help="texts for the tokenizer")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--output", type=Path, help="write all figures to this JSON file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        figures = measure(Path(folder), arguments)
    show(figures, arguments)
    if arguments.output:
        write_json(arguments.output, figures)


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    pipeline = unpacked(arguments.pipeline, folder)
    blank = folder / "blank"
    spacy.blank("zh").to_disk(blank)
    figures: dict[str, Any] = {"environment": environment(), "load": os.getloadavg()}
    for name, path, rows, shard in (
        ("pipeline", pipeline, arguments.rows, 100),
        ("tokenizer", blank, arguments.cheap, 2000),
    ):
        figures[name] = {}
        for system, clock in clocks(folder, path, rows, shard):
            figures[name][system] = {
                "start": clock.start,
                "rate": clock.rate,
                "memory": clock.memory,
            }
            print(f"{name}, {system}: {clock.rate:,.0f} rows/s", flush=True)
    shards = annotated(folder, blank, 300, actors=1, shard_rows=1)
    figures["seconds_a_shard"] = 1 / shards.rate
    figures["load after"] = os.getloadavg()
    return figures


def clocks(folder: Path, path: Path, rows: int, shard: int) -> Iterator[tuple[str, Clock]]:
    yield "nlp.pipe", piped(path, rows, 1)
    yield "nlp.pipe, n_process=2", piped(path, rows, 2)
    yield "1 actor", annotated(folder, path, rows, 1, shard)
    yield "2 actors", annotated(folder, path, rows, 2, shard)


def unpacked(path: Path, folder: Path) -> Path:
    """The folder of a pipeline, that of a wheel unpacked."""
    if path.suffix != ".whl":
        return path.resolve()
    zipfile.ZipFile(path).extractall(folder / "wheel")
    return next((folder / "wheel").glob("*/*/config.cfg")).parent


def texts(n: int) -> Iterator[str]:
    with SENTENCES.open(encoding="utf-8") as lines:
        sentences = [json.loads(line)["text"] for line in lines]
    for number, sentence in enumerate(islice(cycle(sentences), n)):
        yield f"{sentence}x{number}"


def piped(path: Path, rows: int, processes: int) -> Clock:
    clock = Clock()
    nlp = spacy.load(path)
    for number, _ in enumerate(nlp.pipe(texts(rows), n_process=processes, batch_size=100), 1):
        if number % 100 == 0:
            clock.watch(number, rows)
    return clock


def annotated(folder: Path, path: Path, rows: int, actors: int, shard_rows: int) -> Clock:
    number = len(list(folder.iterdir()))
    file = folder / f"{number}.txt"
    file.write_text("".join(f"{text}\n" for text in texts(rows)), "utf-8")
    clock = Clock()
    out = str(folder / f"{number}.out")
    run([str(file)], out, Settings(str(path)), Cluster(actors=actors), shard_rows, clock.watch)
    return clock


def resident(process: int | str) -> int:
    """Megabytes of memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // MEGABYTE


def actors_alive() -> list[int]:
    """Numbers of the processes of actors."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(ACTOR):
                found.append(int(path.parent.name))
        except OSError:  # it has ended
            continue
    return found


def show(figures: dict[str, Any], arguments: argparse.Namespace) -> None:
    systems = list(figures["pipeline"])
    header = ["", *(f"{name}, rows/s" for name in ("pipeline", "tokenizer")), "start, s"]
    rows = [
        [
            system,
            f"{figures['pipeline'][system]['rate']:,.1f}",
            f"{figures['tokenizer'][system]['rate']:,.0f}",
            f"{figures['pipeline'][system]['start']:.1f}",
        ]
        for system in systems
    ]
    print(f"\nLoad of the machine: {figures['load'][0]:.1f} to {figures['load after'][0]:.1f}\n")
    print(format_table(header, rows, arguments.markdown))
    memory = figures["tokenizer"]["1 actor"]["memory"]
    print()
    print(
        format_table(
            ["rows", "driver, MB", "actor, MB"],
            [[f"{rows:,}", str(driver), str(actor)] for rows, driver, actor in memory],
            arguments.markdown,
        )
    )
    alone, actor = (figures["tokenizer"][system]["rate"] for system in ("nlp.pipe", "1 actor"))
    print(f"\nOverhead a row: {1e6 * (1 / actor - 1 / alone):,.0f} µs")
    print(f"Of Ray a shard: {1e3 * figures['seconds_a_shard']:,.1f} ms")
    hours = BILLION / figures["pipeline"]["1 actor"]["rate"] / 3600
    print(f"A billion sentences: {hours:,.0f} core hours")


if __name__ == "__main__":
    main()
