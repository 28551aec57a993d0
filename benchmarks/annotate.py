"""Measure `python -m spacy flat annotate` beside `nlp.pipe`.

    python benchmarks/annotate.py PIPELINE [--rows 2000] [--cheap 100000]
    python benchmarks/annotate.py assets/pipelines/zh_flat_msra-0.1.2-py3-none-any.whl

- Rows a second of the pipeline (a folder or a wheel) with `nlp.pipe`, with `n_process=2`, in one
  process, and with 1 and 2 actors. One thread each. What comes before the first rows is left out:
  it is given by itself, as the start. On a machine that does other work too, rows a second of CPU
  time are what can be compared: of all processes, Ray's own as well.
- The overhead: the same with a pipeline that has a tokenizer only, so that nearly all is reading,
  writing and Ray's.

The texts are sentences of assets/release/msra.jsonl, each with a number of its own. It needs Linux.
"""

import argparse
import json
import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate, cycle, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import spacy
import torch
from report import environment, format_table

from spacy_flat.annotate.run import Cluster, run
from spacy_flat.annotate.settings import Settings

SENTENCES = Path(__file__).parents[1] / "assets/release/msra.jsonl"


class Clock:
    """What a run took until its first rows and its last."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.marks: list[tuple[float, float, float]] = []  # rows, seconds, seconds of all CPUs

    def mark(self, rows: float) -> None:
        if rows:
            mark = (rows, time.perf_counter() - self.begin, cpu_seconds())
            self.marks[1:] = [mark] if self.marks else []
            self.marks = self.marks or [mark]

    def figures(self) -> dict[str, float]:
        """Seconds to the first rows, and what came after: rows a second, and a second of CPU."""
        (first, start, cpu_start), (last, end, cpu_end) = self.marks
        rows = last - first
        return {
            "start": start,
            "rate": rows / (end - start),
            "rate_of_cpu": rows / (cpu_end - cpu_start),
        }


def cpu_seconds() -> float:
    """Of this process and all below it."""
    parents, seconds = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(stat[1])
            seconds[int(folder.name)] = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    family = [os.getpid()]
    for process in family:  # grows while it is read
        family += [child for child, parent in parents.items() if parent == process]
    return sum(map(seconds.__getitem__, family))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", type=Path, help="folder or wheel")
    parser.add_argument("--rows", type=int, default=2000, help="texts for the pipeline")
    parser.add_argument("--cheap", type=int, default=100_000, help="texts for the tokenizer")
    given = parser.parse_args()
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        figures = measure(Path(folder), given)
    header = ["", "rows/s", "rows/s of CPU", "tokenizer alone", "of CPU", "start, s"]
    names = ("pipeline", "tokenizer")
    rows = [
        [
            system,
            *(f"{figures[n][system][r]:,.0f}" for n in names for r in ("rate", "rate_of_cpu")),
            f"{figures['pipeline'][system]['start']:.1f}",
        ]
        for system in figures["pipeline"]
    ]
    print(f"{environment()}, load {os.getloadavg()[0]:.1f}\n")
    print(format_table(header, rows))


def measure(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    path = given.pipeline.resolve()
    if path.suffix == ".whl":
        zipfile.ZipFile(path).extractall(folder / "wheel")
        path = next((folder / "wheel").glob("*/*/config.cfg")).parent
    spacy.blank("zh").to_disk(folder / "blank")
    figures: dict[str, Any] = {}
    for name, pipeline, rows, shard in (
        ("pipeline", path, given.rows, 100),
        ("tokenizer", folder / "blank", given.cheap, 2000),
    ):
        figures[name] = {
            "nlp.pipe": piped(pipeline, rows, 1),
            "nlp.pipe, n_process=2": piped(pipeline, rows, 2),
            "one process": annotated(folder, pipeline, rows, None, shard),
            "1 actor": annotated(folder, pipeline, rows, Cluster(actors=1), shard),
            "2 actors": annotated(folder, pipeline, rows, Cluster(actors=2), shard),
        }
    return figures


def texts(n: int) -> Iterator[str]:
    with SENTENCES.open(encoding="utf-8") as lines:
        sentences = [json.loads(line)["text"] for line in lines]
    for number, sentence in enumerate(islice(cycle(sentences), n)):
        yield f"{sentence}x{number}"


def piped(path: Path, rows: int, processes: int) -> dict[str, float]:
    clock = Clock()
    nlp = spacy.load(path)
    for number, _ in enumerate(nlp.pipe(texts(rows), n_process=processes, batch_size=100), 1):
        if number % 100 == 0:
            clock.mark(number)
    return clock.figures()


def annotated(
    folder: Path, path: Path, rows: int, cluster: Cluster | None, shard_rows: int
) -> dict[str, float]:
    out = folder / f"out{len(list(folder.iterdir()))}"
    file = out.with_suffix(".txt")
    file.write_text("".join(f"{text}\n" for text in texts(rows)), "utf-8")
    clock = Clock()
    done = accumulate(repeat(shard_rows))
    settings = Settings(str(path), shard_rows=shard_rows)
    run([str(file)], str(out), settings, cluster, lambda n: n and clock.mark(next(done)))
    return clock.figures()


if __name__ == "__main__":
    main()
