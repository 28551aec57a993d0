"""What a checkpoint of a training holds: the pipeline as it learns (not its averages), what the
optimizer remembers, and where the run is. No pickle."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import spacy
from safetensors.torch import load_file
from spacy.language import Language
from thinc.api import Optimizer
from torch import Tensor

from ..util.checkpoints import read_checkpoint, save_tensors, write_checkpoint
from .parameters import load_encoders, load_optimizer, save_encoders, save_optimizer

CHECKPOINTS = "checkpoints"
PIPELINE, OPTIMIZER, STATE = "pipeline", "optimizer.safetensors", "state.json"


@dataclass
class Progress:
    """Where a run is.

    seed: of its random numbers.
    steps: made so far.
    results: score and step of each evaluation.
    losses: since the last evaluation.
    words: seen so far.
    seconds: of training, before the last start.
    """

    seed: int
    steps: int = 0
    results: list[tuple[float, int]] = field(default_factory=list)
    losses: dict[str, float] = field(default_factory=dict)
    words: int = 0
    seconds: float = 0.0

    @property
    def best_step(self) -> int:
        """That of the best evaluation, the first of those with the same score."""
        return -max((score, -step) for score, step in self.results)[1]


@dataclass(frozen=True)
class Saved:
    """What was read of a checkpoint.

    config: the run's, as it was given.
    random: states of random numbers, one for each worker.
    """

    nlp: Language
    config: dict[str, Any]
    progress: Progress
    random: list[dict[str, Any]]
    optimizer: dict[str, Tensor]
    counts: dict[str, int]
    encoders: dict[str, int]

    def restore(self, optimizer: Optimizer) -> None:
        """Give a new optimizer what the saved one remembered, its schedules included."""
        load_optimizer(optimizer, self.nlp, self.optimizer, self.counts)
        load_encoders(self.nlp, self.encoders)
        for _ in range(self.progress.steps):
            optimizer.step_schedules()  # type: ignore[no-untyped-call]


def save(
    output: Path,
    nlp: Language,
    optimizer: Optimizer,
    config: dict[str, Any],
    progress: Progress,
    random: list[dict[str, Any]],
) -> None:
    """Write a checkpoint, and remove those before the last two.

    Raises ValueError (F442) where the optimizer has something that belongs to no component, and
    OSError (F042) for a full disk.
    """
    tensors, counts = save_optimizer(optimizer, nlp)
    state = {
        "config": config,
        "progress": asdict(progress),
        "random": random,
        "counts": counts,
        "encoders": save_encoders(nlp),
    }

    def write(folder: Path) -> None:
        nlp.to_disk(folder / PIPELINE)
        save_tensors(tensors, folder / OPTIMIZER)
        (folder / STATE).write_text(json.dumps(state, default=float), "utf-8")  # numpy's numbers

    write_checkpoint(output / CHECKPOINTS, progress.steps, write)


def load(output: Path) -> Saved | None:
    """The last checkpoint that is whole, or None where there is none; errors as in
    `read_checkpoint`."""
    return read_checkpoint(output / CHECKPOINTS, _read)


def _read(folder: Path) -> Saved:
    state = json.loads((folder / STATE).read_text("utf-8"))
    progress = Progress(**state["progress"])
    progress.results = [(score, step) for score, step in progress.results]
    return Saved(
        spacy.load(folder / PIPELINE),
        state["config"],
        progress,
        state["random"],
        load_file(folder / OPTIMIZER),
        state["counts"],
        state["encoders"],
    )
