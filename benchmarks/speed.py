"""Measure the speed and memory of `flat_ner` and `tener_ner`.

    python benchmarks/speed.py [--text FILE] [--pipeline DIR]
    python benchmarks/speed.py --factory tener_ner

Three systems process texts of 50, 100, 200 and 400 characters, 1 and 16 at once, with 1 and 2
threads:

- "network": the encoder alone, in training with its CRF, on a ready batch, the texts uncut;
- "direct": FLAT in the published way, with the relative encoding of every pair of nodes (see
  `direct.py`), the same weights, and the same emissions, which is checked before anything is timed;
- "pipeline": `nlp.pipe` and `nlp.update`, from texts to entities and from examples to new weights.
  It cuts long texts as it is set to.

Inference of a network is its emissions; training is the likelihood of a path and all gradients.
The systems take turns and the median counts. The direct form is left out where it would
need more memory than --direct-limit.

Memory is the highest resident set of a process that loads the pipeline, reads one short text and
then does the work, less what it had before the work; a fresh process for each figure, one thread.
It needs Linux and glibc.

Texts are made of words of jieba's dictionary, or are pieces of a --text (UTF-8 lines, or a
`.spacy` file), which then also go through `nlp.pipe` as they are.
Without a --pipeline a small one is trained on the spot.
"""

import argparse
import ctypes
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import spacy
import torch
from direct import DirectFLAT, bytes_needed, check_equal
from report import environment, format_table
from sentences import cut_texts, draw_texts, make_examples, make_pipeline, read_texts
from spacy.language import Language

from spacy_flat.ner.component import CRFEntityRecognizer
from spacy_flat.ner.flat.featuriser import LatticeFeaturiser
from spacy_flat.ner.flat.network import FLAT
from spacy_flat.ner.tags import OUTSIDE
from spacy_flat.ner.tener.featuriser import SequenceFeaturiser
from spacy_flat.ner.tener.network import TENER
from spacy_flat.text.segments import Segment
from spacy_flat.text.spans import Units

System = Literal["network", "direct", "pipeline"]
Task = Literal["inference", "training"]
Step = Callable[[], object]
SYSTEMS: tuple[System, ...] = get_args(System)
TASKS: tuple[Task, ...] = get_args(Task)

ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """What is done at once: `batch` texts of `length` characters."""

    task: Task
    length: int
    batch: int
    threads: int = 1


@dataclass(frozen=True)
class Figure:
    """Texts a second or MB; None where the direct form was left out or a process was killed."""

    case: Case
    system: System
    value: float | None


def main() -> None:
    arguments = parse_arguments()
    texts = read_texts(arguments.text) if arguments.text else draw_texts(2000)
    cases = [Case(*case) for case in product(TASKS, arguments.lengths, arguments.batches)]
    print(environment())
    with TemporaryDirectory() as folder:
        path = arguments.pipeline or save_pipeline(arguments.factory, Path(folder))
        if "memory" in arguments.measure:
            memory = measure_memory(path, texts, cases, arguments.direct_limit)
            print_memory(memory)
        if "speed" in arguments.measure:
            bench = Bench(spacy.load(path), texts, arguments.direct_limit)
            speed = measure_speed(bench, cases, arguments.threads, arguments.seconds)
            print_speed(speed)
            for threads in arguments.threads if arguments.text else ():
                measure_pipe(bench.nlp, texts, threads)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="texts to measure with: UTF-8 lines or .spacy")
    parser.add_argument("--pipeline", type=Path, help="directory of a trained pipeline")
    parser.add_argument("--factory", choices=["flat_ner", "tener_ner"], default="flat_ner")
    parser.add_argument("--lengths", type=int, nargs="+", default=[50, 100, 200, 400])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--measure", nargs="+", choices=["speed", "memory"])
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each figure, about")
    parser.add_argument("--direct-limit", type=float, default=8.0, metavar="GB")
    arguments = parser.parse_args()
    arguments.measure = arguments.measure or ["speed", "memory"]
    if "memory" in arguments.measure and not sys.platform.startswith("linux"):
        parser.error("memory is measured on Linux only: add --measure speed")
    return arguments


def save_pipeline(factory: str, path: Path) -> Path:
    torch.set_num_threads(1)
    make_pipeline(factory).to_disk(path)
    return path


class Bench:
    """A loaded pipeline, and the work that is measured with it."""

    def __init__(self, nlp: Language, texts: Sequence[str], direct_limit: float) -> None:
        component = next(p for _, p in nlp.pipeline if isinstance(p, CRFEntityRecognizer))
        self.nlp = nlp
        self.texts = texts
        self.direct_limit = direct_limit
        self.encoder: LatticeFeaturiser | SequenceFeaturiser = component.model.attrs["featuriser"]
        shim: Any = component.model.shims[0]
        self.network: FLAT | TENER = shim.module

    @cached_property
    def direct(self) -> DirectFLAT:
        assert isinstance(self.network, FLAT)
        return DirectFLAT(self.network)

    def step(self, case: Case, system: System) -> Step | None:
        """One pass over a batch; None for the direct form where it would take too much memory, or
        where there is none."""
        texts = cut_texts(self.texts, case.length, case.batch)
        if system == "pipeline":
            return self._pipeline_step(case, texts)
        batch = self._whole_batch(texts)
        if system == "network":
            return self._network_step(case, self.network, batch)
        if not isinstance(self.network, FLAT):
            return None
        needed = bytes_needed(self.network, batch, training=case.task == "training")
        if needed > self.direct_limit * 1e9:
            return None
        check_equal(self.network, self.direct, batch)
        return self._network_step(case, self.direct, batch)

    def _pipeline_step(self, case: Case, texts: list[str]) -> Step:
        if case.task == "inference":
            return lambda: list(self.nlp.pipe(texts, batch_size=case.batch))
        examples = make_examples(self.nlp, texts)
        optimizer = self.nlp.create_optimizer()  # type: ignore[no-untyped-call]
        return lambda: self.nlp.update(examples, sgd=optimizer)

    def _network_step(self, case: Case, network: Any, batch: Any) -> Step:
        crf = self.network.crf
        lengths = torch.from_numpy(batch.n_units)
        outside = torch.zeros(case.batch, case.length, len(crf.starts), dtype=torch.bool)
        outside[..., OUTSIDE] = True

        def infer() -> None:
            network.eval()
            with torch.no_grad():
                network(batch)

        def train() -> None:
            network.train()
            network.zero_grad()
            likelihood, _ = crf.likelihood_and_marginals(network(batch), outside, lengths)
            torch.autograd.backward(-likelihood.mean())

        return infer if case.task == "inference" else train

    def _whole_batch(self, texts: Sequence[str]) -> Any:
        """One batch of all texts, none cut."""
        options: Any = replace(self.encoder.options, batch_size=sys.maxsize)
        segments = [Segment(number, 0, len(text)) for number, text in enumerate(texts)]
        (batch,) = replace(self.encoder, options=options).batches(
            list(map(Units.visible_characters, texts)), segments
        )
        return batch


def measure_speed(
    bench: Bench, cases: Iterable[Case], threads: Iterable[int], seconds: float
) -> list[Figure]:
    figures = []
    for case in (replace(case, threads=n) for case, n in product(cases, threads)):
        print(f"measuring speed: {case}", file=sys.stderr)
        torch.set_num_threads(case.threads)
        found = {system: bench.step(case, system) for system in SYSTEMS}
        steps = {system: step for system, step in found.items() if step is not None}
        times = dict(zip(steps, clock(list(steps.values()), seconds), strict=True))
        for system in SYSTEMS:
            rate = case.batch / times[system] if system in times else None
            figures.append(Figure(case, system, rate))
    return figures


def clock(steps: Sequence[Step], seconds: float) -> list[float]:
    """Median seconds of each step. They take turns, so that a busy machine harms all alike."""
    times: list[list[float]] = [[] for _ in steps]
    for step in steps:
        step()
    for _ in range(ROUNDS):
        for step, taken in zip(steps, times, strict=True):
            end = time.perf_counter() + seconds / ROUNDS
            while True:
                start = time.perf_counter()
                step()
                taken.append(time.perf_counter() - start)
                if time.perf_counter() > end:
                    break
    return [median(taken) for taken in times]


def measure_pipe(nlp: Language, texts: Sequence[str], threads: int) -> None:
    """Print the texts a second of `nlp.pipe` over texts as they are, the best of three passes."""
    torch.set_num_threads(threads)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in nlp.pipe(texts):
            pass
        best = min(best, time.perf_counter() - start)
    rate = len(texts) / best
    print(f"nlp.pipe over {len(texts):,} texts, {threads} threads: {rate:,.0f} a second")


def measure_memory(
    path: Path, texts: Sequence[str], cases: Iterable[Case], direct_limit: float
) -> list[Figure]:
    figures = []
    for case, system in product(cases, SYSTEMS):
        print(f"measuring memory of {system}: {case}", file=sys.stderr)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            peak = pool.submit(peak_above_pipeline, path, texts, case, system, direct_limit)
            try:
                figures.append(Figure(case, system, peak.result()))
            except BrokenProcessPool:  # killed, for want of memory
                figures.append(Figure(case, system, None))
    return figures


def peak_above_pipeline(
    path: Path, texts: Sequence[str], case: Case, system: System, direct_limit: float
) -> float | None:
    """MB; None for the direct form where it is left out. To be called in a new process."""
    torch.set_num_threads(case.threads)
    bench = Bench(spacy.load(path), texts, direct_limit)
    bench.nlp(texts[0][:10])
    step = bench.step(case, system)
    if step is None:
        return None
    # What it took to prepare the work, such as a dictionary, is none of it.
    trim()
    reset_peak()
    before = peak_mb()
    step()
    step()
    return peak_mb() - before


def trim() -> None:
    """Give freed memory back to the system."""
    ctypes.CDLL(None).malloc_trim(0)


def reset_peak() -> None:
    """Loading takes more memory than what was loaded: start anew from what is taken now.

    ru_maxrss can't be reset, and a process also inherits it from the one that started it.
    """
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def print_speed(figures: Iterable[Figure]) -> None:
    print("Texts a second\n")
    header = ["", "characters", "batch", "threads", *SYSTEMS, "network/direct"]
    rows = []
    for case, found in by_case(figures).items():
        rates = [found[system].value for system in SYSTEMS]
        network, direct, _ = rates
        gain = f"{network / direct:.1f}" if network and direct else "–"
        numbers = [case.length, case.batch, case.threads]
        rows.append([case.task, *map(str, numbers), *map(show, rates), gain])
    print(format_table(header, rows) + "\n")


def print_memory(figures: Iterable[Figure]) -> None:
    print("Peak memory in MB above the loaded pipeline\n")
    header = ["", "characters", "batch", *SYSTEMS]
    rows = [
        [
            case.task,
            str(case.length),
            str(case.batch),
            *(show(found[system].value) for system in SYSTEMS),
        ]
        for case, found in by_case(figures).items()
    ]
    print(format_table(header, rows) + "\n")


def by_case(figures: Iterable[Figure]) -> dict[Case, dict[System, Figure]]:
    cases: dict[Case, dict[System, Figure]] = {}
    for figure in figures:
        cases.setdefault(figure.case, {})[figure.system] = figure
    return cases


def show(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
