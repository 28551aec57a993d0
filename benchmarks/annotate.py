"""Measure `python -m spacy flat annotate` beside `nlp.pipe`.

    python benchmarks/annotate.py PIPELINE [--rows 2000] [--cheap 100000] [--markdown]
    python benchmarks/annotate.py assets/pipelines/zh_flat_msra-0.1.2-py3-none-any.whl

- Rows a second of the pipeline (a folder or a wheel) with `nlp.pipe`, with `n_process=2`, and with
  1 and 2 actors. One thread each. What comes before the first rows is left out: it is given by
  itself, as the start. On a machine that does other work too, rows a second of CPU time are what
  can be compared: of all processes, Ray's own as well.
- The overhead: the same with a pipeline that has a tokenizer only, so that nearly all is reading,
  writing and Ray's, and with shards of one row, where nearly all is Ray's.
- Memory: the resident set of the driver and of the largest actor after each tenth of the rows,
  with the tokenizer. Every text has words that no other has.
- What a billion sentences cost by these figures.

The texts are sentences of assets/release/msra.jsonl, each with a number of its own. It needs Linux.
"""

import argparse
import json
import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
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
    """What a run took after each tenth of its rows, and after its first.

    times: rows, seconds since the clock was made, and seconds of all CPUs, this process and those
    below it. memory: rows, megabytes of this process and of the largest actor.
    """

    begin: float = field(default_factory=time.perf_counter)
    times: list[tuple[float, float, float]] = field(default_factory=list)
    memory: list[tuple[float, int, int]] = field(default_factory=list)

    def watch(self, done: float, total: float) -> None:
        if not done or (self.times and done * 10 < len(self.times) * total):
            return
        family = processes()
        cpu = sum(process.cpu for process in family)
        self.times.append((done, time.perf_counter() - self.begin, cpu))
        actors = [process.megabytes for process in family if process.is_actor]
        own = next(process.megabytes for process in family if process.number == os.getpid())
        self.memory.append((done, own, max(actors, default=0)))

    def figures(self) -> dict[str, Any]:
        """Seconds to the first rows, and what came after: rows a second, and a second of CPU."""
        (first, start, cpu_start), (last, end, cpu_end) = self.times[0], self.times[-1]
        return {
            "start": start,
            "rate": (last - first) / (end - start),
            "rate_of_cpu": (last - first) / (cpu_end - cpu_start),
            "memory": self.memory,
        }


@dataclass(frozen=True)
class Process:
    number: int
    parent: int
    cpu: float
    megabytes: int
    is_actor: bool

    @classmethod
    def read(cls, folder: Path) -> "Process":
        """Raises OSError where it has ended."""
        stat = (folder / "stat").read_text().rpartition(")")[2].split()
        cpu = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        megabytes = int(stat[21]) * os.sysconf("SC_PAGE_SIZE") // MEGABYTE
        is_actor = (folder / "cmdline").read_bytes().startswith(ACTOR)
        return cls(int(folder.name), int(stat[1]), cpu, megabytes, is_actor)


def processes() -> list[Process]:
    """This process and all below it."""
    alive = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            process = Process.read(folder)
            alive[process.number] = process
    found = [alive[os.getpid()]]
    for process in found:  # grows while it is read
        found += [each for each in alive.values() if each.parent == process.number]
    return found


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
            figures[name][system] = clock.figures()
            rate, of_cpu = clock.figures()["rate"], clock.figures()["rate_of_cpu"]
            print(f"{name}, {system}: {rate:,.0f} rows/s, {of_cpu:,.0f} of CPU", flush=True)
    shards = annotated(folder, blank, 300, actors=1, shard_rows=1).figures()
    figures["a shard"] = 1 / shards["rate_of_cpu"]
    figures["load after"] = os.getloadavg()
    return figures


def clocks(folder: Path, path: Path, rows: int, shard: int) -> Iterator[tuple[str, Clock]]:
    yield "nlp.pipe", piped(path, rows, 1)
    yield "nlp.pipe, n_process=2", piped(path, rows, 2)
    yield "one process", annotated(folder, path, rows, None, shard)
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


def annotated(folder: Path, path: Path, rows: int, actors: int | None, shard_rows: int) -> Clock:
    number = len(list(folder.iterdir()))
    file = folder / f"{number}.txt"
    file.write_text("".join(f"{text}\n" for text in texts(rows)), "utf-8")
    clock = Clock()
    out = str(folder / f"{number}.out")
    cluster = None if actors is None else Cluster(actors=actors)
    settings = Settings(str(path), shard_rows=shard_rows)
    run([str(file)], out, settings, cluster, lambda done, all: clock.watch(rows * done / all, rows))
    return clock


def show(figures: dict[str, Any], arguments: argparse.Namespace) -> None:
    systems = list(figures["pipeline"])
    header = ["", "rows/s", "rows/s of CPU", "tokenizer alone", "of CPU", "start, s"]
    rows = [
        [
            system,
            *(
                f"{figures[name][system][rate]:,.0f}"
                for name in ("pipeline", "tokenizer")
                for rate in ("rate", "rate_of_cpu")
            ),
            f"{figures['pipeline'][system]['start']:.1f}",
        ]
        for system in systems
    ]
    print(f"\nLoad of the machine: {figures['load'][0]:.1f} to {figures['load after'][0]:.1f}\n")
    print(format_table(header, rows, arguments.markdown))
    memory = figures["tokenizer"]["1 actor"]["memory"]
    cells = [[f"{rows:,.0f}", str(driver), str(actor)] for rows, driver, actor in memory]
    print(f"\n{format_table(['rows', 'driver, MB', 'actor, MB'], cells, arguments.markdown)}")
    alone, actor = (figures["tokenizer"][name]["rate_of_cpu"] for name in ("nlp.pipe", "1 actor"))
    print(f"\nCPU time of reading, writing and Ray, a row: {1e6 * (1 / actor - 1 / alone):,.0f} µs")
    print(f"CPU time of a shard of one row: {1e3 * figures['a shard']:,.1f} ms")
    hours = BILLION / figures["pipeline"]["1 actor"]["rate_of_cpu"] / 3600
    print(f"A billion sentences: {hours:,.0f} core hours")


if __name__ == "__main__":
    main()
