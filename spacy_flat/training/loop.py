"""The training loop with checkpoints."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Generic, TypeVar

from .checkpoints import write_checkpoint

CHECKPOINTS, TENSORS, STATE = "checkpoints", "tensors.safetensors", "state.json"

ReportT = TypeVar("ReportT")
BatchT = TypeVar("BatchT")


@dataclass
class Progress:
    """The progress of a training.

    seed: the random seed.
    results: score and step of each evaluation.
    losses: summed since the last evaluation.
    words: seen so far.
    seconds: spent before this process started.
    """

    seed: int
    steps: int = 0
    results: list[tuple[float, int]] = field(default_factory=list)
    losses: dict[str, float] = field(default_factory=dict)
    words: int = 0
    seconds: float = 0.0

    def best_step(self) -> int:
        """The step of the best evaluation, the first of equals."""
        return -max((score, -step) for score, step in self.results)[1]


class Trainer(ABC, Generic[BatchT, ReportT]):
    """Trains step by step.

    batches: the batches left to train on.
    output: `checkpoints` is written into this folder; None writes none.
    clock: returns seconds.
    """

    batches: Iterator[BatchT]

    def __init__(
        self, progress: Progress, output: Path | None, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.progress, self.output, self.clock = progress, output, clock
        self.started = self.last_saved = clock()

    def elapsed(self) -> float:
        """Seconds of training, earlier processes included."""
        return self.progress.seconds + self.clock() - self.started

    def steps(self) -> Iterator[ReportT]:
        """Train; yields reports on the way. A checkpoint follows its step's report."""
        while not self.is_over():
            batch = next(self.batches, None)
            if batch is None:
                return
            self.train_step(batch)
            evaluated = self.evaluate()
            report = self.report(evaluated)
            if report is not None:
                yield report
            if evaluated:
                self.progress.losses = {}
            if self.output is not None and self.is_due(evaluated):
                self.save()
                self.last_saved = self.clock()

    @abstractmethod
    def is_over(self) -> bool: ...

    @abstractmethod
    def train_step(self, batch: BatchT) -> None:
        """Make one step of the optimizer and count it."""

    @abstractmethod
    def evaluate(self) -> bool:
        """Evaluate if it is due after this step. Returns whether it was."""

    @abstractmethod
    def report(self, evaluated: bool) -> ReportT | None: ...

    def is_due(self, evaluated: bool) -> bool:
        """Whether to write a checkpoint after this step."""
        return evaluated

    def save(self) -> None:
        """Write a checkpoint. Raises OSError (F042) for a full disk."""
        assert self.output is not None
        write_checkpoint(self.output / CHECKPOINTS, self.progress.steps, self.write)

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Write the files of a checkpoint."""
