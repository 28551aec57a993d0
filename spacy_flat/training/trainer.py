"""Training of pipelines: spaCy's loop, with checkpoints, and with workers that share each batch."""

import io
import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import spacy
from safetensors.torch import load_file
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    create_before_to_disk_callback,
    create_evaluation_callback,
    create_train_batches,
    subdivide_batch,
    update_meta,
)
from spacy.util import registry, resolve_dot_names
from thinc.api import Optimizer, fix_random_seed
from torch import Tensor
from wasabi.printer import Printer

from ..nn.workers import Workers
from ..util.files import remove_unfinished, replacing_folder
from .checkpoints import read_checkpoint, save_tensors
from .loop import CHECKPOINTS, STATE, Progress, Trainer
from .parameters import load_encoders, load_optimizer, save_encoders, save_optimizer
from .randomness import random_state, set_random_state, with_own_randomness
from .sharing import add_up_gradients, broadcast_weights, part_of, register_labels, skip_steps

Batch = Sequence[Example]
Info = tuple[dict[str, Any], bool | None]
Silent = Printer(no_print=True)
PIPELINE, OPTIMIZER = "pipeline", "optimizer.safetensors"


@dataclass(frozen=True)
class Interval:
    """Steps or minutes between extra checkpoints; 0 for none."""

    steps: int = 0
    minutes: float = 0.0

    def is_over(self, step: int, seconds: float) -> bool:
        """seconds: since the last checkpoint."""
        by_steps = self.steps > 0 and step % self.steps == 0
        return by_steps or (self.minutes > 0 and seconds >= 60 * self.minutes)


@dataclass(frozen=True)
class Saved:
    """A checkpoint: the pipeline (with current weights, not averages), the state of the optimizer,
    and the progress as JSON."""

    nlp: Language
    optimizer: dict[str, Tensor]
    state: dict[str, Any]

    @property
    def config(self) -> dict[str, Any]:
        """The config with which the run was started."""
        config: dict[str, Any] = self.state["config"]
        return config

    @property
    def progress(self) -> Progress:
        progress = Progress(**self.state["progress"])
        progress.results = [(score, step) for score, step in progress.results]
        return progress


def load(output: Path) -> Saved | None:
    """The last intact checkpoint, if there is one; errors as in `read_checkpoint`."""
    return read_checkpoint(
        output / CHECKPOINTS,
        lambda folder: Saved(
            spacy.load(folder / PIPELINE),
            load_file(folder / OPTIMIZER),
            json.loads((folder / STATE).read_text("utf-8")),
        ),
    )


class PipelineTrainer(Trainer[tuple[int, Batch], Info]):
    """Trains a pipeline. Reports are what `spacy train` passes to its logger, and whether the step
    is the best so far (None if it was not evaluated).

    config: the given one, stored in checkpoints.
    saved: the checkpoint to resume; `nlp` is then its pipeline.
    """

    def __init__(
        self,
        nlp: Language,
        output: Path | None,
        config: dict[str, Any],
        saved: Saved | None,
        workers: Workers,
        interval: Interval,
        clock: Callable[[], float] = perf_counter,
    ):
        self.nlp, self.config, self.saved = nlp, config, saved
        self.workers, self.interval = workers, interval
        filled = nlp.config.interpolate()
        super().__init__(
            self._begun(filled["training"]["seed"]) if saved is None else saved.progress,
            output,
            clock,
        )
        # Like spaCy: some of the functions that it resolves may draw random numbers.
        fix_random_seed(self.progress.seed)
        self.settings: dict[str, Any] = registry.resolve(
            filled["training"], schema=ConfigSchemaTraining
        )
        corpora = [self.settings["train_corpus"], self.settings["dev_corpus"]]
        self.train_corpus, self.dev_corpus = resolve_dot_names(filled, corpora)
        self.optimizer: Optimizer = self.settings["optimizer"]
        self.frozen: list[str] = self.settings["frozen_components"]
        self.evaluation = create_evaluation_callback(
            nlp, self.dev_corpus, self.settings["score_weights"]
        )
        batches = create_train_batches(
            nlp, self.train_corpus, self.settings["batcher"], self.settings["max_epochs"]
        )
        # Draw past batches again, since the order of an epoch depends on the one before.
        self.batches = islice(with_own_randomness(batches), self.progress.steps, None)

    def _begun(self, seed: int | None) -> Progress:
        """All workers use the same seed, even if none is given."""
        chosen = random.SystemRandom().randrange(2**31) if seed is None else seed
        return Progress(self.workers.gathered(chosen)[0])

    def steps(self) -> Iterator[Info]:
        """As `Trainer.steps`, from the saved state."""
        rank, random_states = self.workers.rank, []
        if self.saved is not None:
            load_optimizer(
                self.optimizer, self.nlp, self.saved.optimizer, self.saved.state["counts"]
            )
            load_encoders(self.nlp, self.saved.state["encoders"])
            for _ in range(self.progress.steps):
                self.optimizer.step_schedules()  # type: ignore[no-untyped-call]
            random_states = self.saved.state["random"]
        if rank:
            self.progress.losses = {}  # the first worker has the sums
        if rank < len(random_states):
            set_random_state(random_states[rank])
        elif rank:
            fix_random_seed(self.progress.seed + rank)
        broadcast_weights(self.nlp, self.workers)
        yield from super().steps()

    def is_over(self) -> bool:
        last = self.progress.steps - 1
        if last < 0:
            return False
        patience, most = self.settings["patience"], self.settings["max_steps"]
        is_stuck = patience and last - self.progress.best_step() >= patience
        return bool(is_stuck or (most and last >= most))

    def train_step(self, batch: tuple[int, Batch]) -> None:
        self.epoch, examples = batch
        settings, nlp = self.settings, self.nlp
        if settings["before_update"]:
            settings["before_update"](nlp, {"step": self.progress.steps, "epoch": self.epoch})
        for part in subdivide_batch(examples, settings["accumulate_gradient"]):  # type: ignore[no-untyped-call]
            self._add_gradients(part)
        add_up_gradients(nlp, self.workers)
        pipes: list[tuple[str, Any]] = nlp.pipeline
        for name, pipe in pipes:
            trains = getattr(pipe, "is_trainable", False) and name not in self.frozen
            if trains and pipe.model not in (True, False, None):
                pipe.finish_update(self.optimizer)
        self.optimizer.step_schedules()  # type: ignore[no-untyped-call]
        self.progress.steps += 1
        self.progress.words += sum(map(len, examples))

    def _add_gradients(self, batch: Batch) -> None:
        """Compute the gradients of this worker's part."""
        register_labels(self.nlp, batch, self.frozen, self.workers)
        part = part_of(batch, self.workers)
        if not part:
            skip_steps(self.nlp, self.frozen)
            return
        self.nlp.update(
            part,
            drop=self.settings["dropout"],
            losses=self.progress.losses,
            sgd=False,  # type: ignore[arg-type]
            exclude=self.frozen,
            annotates=self.settings["annotating_components"],
        )

    def evaluate(self) -> bool:
        """Evaluate in the first worker."""
        step = self.progress.steps - 1
        self.scores: dict[str, Any] | None = None
        if step % self.settings["eval_frequency"]:
            return False
        score, self.scores = 0.0, {}
        if self.workers.is_first:
            with self.nlp.use_params(self.optimizer.averages or {}):
                score, self.scores = self.evaluation()
        self.progress.results.append((self.workers.gathered(score)[0], step))
        self.progress.losses = added(self.workers.gathered(self.progress.losses))
        return True

    def report(self, evaluated: bool) -> Info:
        progress = self.progress
        score = progress.results[-1][0] if evaluated else None
        info = {
            "epoch": self.epoch,
            "step": progress.steps - 1,
            "score": score,
            "other_scores": self.scores,
            "losses": progress.losses,
            "checkpoints": progress.results,
            "seconds": int(self.elapsed()),
            "words": progress.words,
        }
        return info, score == max(progress.results)[0] if evaluated else None

    def is_due(self, evaluated: bool) -> bool:
        """Whether the first worker's clock says so, since all workers must agree."""
        due = self.interval.is_over(self.progress.steps, self.clock() - self.last_saved)
        if self.interval.minutes:
            due = self.workers.gathered(due)[0]
        return due or evaluated

    def save(self) -> None:
        """Raises ValueError (F442) for state of the optimizer that belongs to no component, OSError
        (F042) for a full disk."""
        random_states = self.workers.gathered(random_state())
        losses = added(self.workers.gathered(self.progress.losses))
        if not self.workers.is_first:
            return
        progress = replace(self.progress, losses=losses, seconds=self.elapsed())
        self.tensors, counts = save_optimizer(self.optimizer, self.nlp)
        self.state = {
            "config": self.config,
            "progress": asdict(progress),
            "random": random_states,
            "counts": counts,
            "encoders": save_encoders(self.nlp),
        }
        super().save()

    def write(self, folder: Path) -> None:
        self.nlp.to_disk(folder / PIPELINE)
        save_tensors(self.tensors, folder / OPTIMIZER)
        text = json.dumps(self.state, default=float)  # numpy's numbers
        (folder / STATE).write_text(text, "utf-8")

    def write_pipeline(self, is_best: bool) -> None:
        """Write the pipeline with averaged weights as the last and, if it is, the best."""
        if self.output is None or not self.workers.is_first:
            return
        to_write = create_before_to_disk_callback(self.settings["before_to_disk"])
        last, best = self.output / DIR_MODEL_LAST, self.output / DIR_MODEL_BEST
        with self.nlp.use_params(self.optimizer.averages), replacing_folder(last) as temporary:
            to_write(self.nlp).to_disk(temporary)
        if is_best:
            with replacing_folder(best) as temporary:
                shutil.copytree(last, temporary)


def train(trainer: PipelineTrainer, stdout: IO[str], stderr: IO[str]) -> None:
    """Train and log like `spacy train`. Only the first worker logs and writes.

    The errors of components and corpora are raised after saving the last pipeline.
    """
    nlp, frozen, output = trainer.nlp, trainer.frozen, trainer.output
    is_first = trainer.workers.is_first
    if output is not None and is_first:
        remove_unfinished(output)
    out = stdout if is_first else io.StringIO()
    out.write(Silent.info(f"Pipeline: {nlp.pipe_names}") + "\n")
    for title, names in (
        ("Frozen components", frozen),
        ("Set annotations on update for", trainer.settings["annotating_components"]),
    ):
        if names:
            out.write(Silent.info(f"{title}: {names}") + "\n")
    out.write(Silent.info(f"Initial learn rate: {trainer.optimizer.learn_rate}") + "\n")
    log_step, finalize = nothing, nothing
    if is_first:
        with nlp.select_pipes(disable=frozen):
            log_step, finalize = trainer.settings["logger"](nlp, stdout, stderr)
    try:
        for info, is_best in trainer.steps():
            if is_best is not None and is_first:
                with nlp.select_pipes(disable=frozen):
                    update_meta(trainer.settings, nlp, info)
                trainer.write_pipeline(is_best)
                if output is not None:
                    info["output_path"] = str(output / DIR_MODEL_LAST)
            log_step(info if is_best is not None else None)
    except Exception as error:
        if output is not None:
            text = f"Aborting and saving the last model. Encountered exception: {error!r}"
            out.write(Silent.warn(text) + "\n")
        raise
    finally:
        finalize()
        trainer.write_pipeline(False)
    if output is not None:
        good = Silent.good("Saved pipeline to output directory", output / DIR_MODEL_LAST)
        out.write(good + "\n")


def added(losses: Sequence[dict[str, float]]) -> dict[str, float]:
    """The sums over all workers."""
    names = dict.fromkeys(name for each in losses for name in each)
    return {name: sum(each.get(name, 0.0) for each in losses) for name in names}


def nothing(_: object = None) -> None:
    """A logger that logs nothing."""
