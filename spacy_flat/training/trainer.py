"""spaCy's training loop, with checkpoints, and with workers that share each batch."""

import io
import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import IO, Any, TypeVar

import numpy as np
import spacy
from safetensors.torch import load_file, save
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
from ..util.files import remove_unfinished, replacing
from .checkpoints import read_checkpoint, write_checkpoint
from .parameters import load_optimizer, save_optimizer
from .sharing import add_labels, broadcast_weights, part_of, sum_gradients, update_without_examples

T = TypeVar("T")
Batch = Sequence[Example]
Info = tuple[dict[str, Any], bool | None]
CHECKPOINTS = "checkpoints"  # folder in that of the training
PIPELINE, OPTIMIZER, STATE = "pipeline", "optimizer.safetensors", "state.json"  # of a checkpoint


@dataclass
class Progress:
    """The progress of a training.

    results: score and step of each evaluation.
    losses: summed since the last evaluation.
    words: seen so far.
    seconds: spent before this process started.
    told: what the logger was told at evaluations.
    """

    seed: int
    steps: int = 0
    results: list[tuple[float, int]] = field(default_factory=list)
    losses: dict[str, float] = field(default_factory=dict)
    words: int = 0
    seconds: float = 0.0
    told: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Saved:
    """A checkpoint: pipeline (with weights, not averages), optimizer's state, progress as JSON."""

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

    @classmethod
    def read(cls, folder: Path) -> "Saved":
        state = json.loads((folder / STATE).read_text("utf-8"))
        # Earlier versions had it in the config.
        state["progress"].setdefault("told", state["config"].pop("told", []))
        return cls(spacy.load(folder / PIPELINE), load_file(folder / OPTIMIZER), state)


def load(output: Path) -> Saved | None:
    """The last intact checkpoint, if there is one; errors as in `read_checkpoint`."""
    return read_checkpoint(output / CHECKPOINTS, Saved.read)


class Trainer:
    """Trains a pipeline.

    output: folder for checkpoints and pipelines; None writes none.
    config: the given one, stored in checkpoints.
    saved: the checkpoint to resume; `nlp` is then its pipeline.
    checkpoint_steps: steps between checkpoints beside those of evaluations; 0 for none.
    """

    def __init__(
        self,
        nlp: Language,
        output: Path | None,
        config: dict[str, Any],
        saved: Saved | None,
        workers: Workers,
        checkpoint_steps: int = 0,
    ):
        self.nlp, self.output, self.config, self.saved = nlp, output, config, saved
        self.workers, self.checkpoint_steps = workers, checkpoint_steps
        filled = nlp.config.interpolate()
        seed = filled["training"]["seed"]
        if seed is None:  # all workers draw the same
            seed = workers.all_gather(random.SystemRandom().randrange(2**31))[0]
        self.progress = Progress(seed) if saved is None else saved.progress
        self.started = perf_counter() - self.progress.seconds
        # Like spaCy: some of the functions that it resolves may draw random numbers.
        fix_random_seed(self.progress.seed)
        self.settings: dict[str, Any] = registry.resolve(
            filled["training"], schema=ConfigSchemaTraining
        )
        corpora = [self.settings["train_corpus"], self.settings["dev_corpus"]]
        train_corpus, dev_corpus = resolve_dot_names(filled, corpora)
        self.optimizer: Optimizer = self.settings["optimizer"]
        self.frozen: list[str] = self.settings["frozen_components"]
        weights = self.settings["score_weights"]
        self.evaluation = create_evaluation_callback(nlp, dev_corpus, weights)
        batcher, max_epochs = self.settings["batcher"], self.settings["max_epochs"]
        batches = create_train_batches(nlp, train_corpus, batcher, max_epochs)
        # Draw past batches again, since the order of an epoch depends on the one before.
        self.batches = islice(with_own_randomness(batches), self.progress.steps, None)

    def steps(self) -> Iterator[Info]:
        """Train. Yields what `spacy train` passes to its logger after each step, and whether the
        step is the best so far (None if it was not evaluated). A checkpoint follows."""
        self._restore()
        while not self._is_over() and (batch := next(self.batches, None)) is not None:
            epoch, examples = batch
            self._train_step(epoch, examples)
            scores = self._evaluate()
            yield self._report(epoch, scores)
            if scores is not None:
                self.progress.losses = {}
            is_due = self.checkpoint_steps and self.progress.steps % self.checkpoint_steps == 0
            if self.output is not None and (is_due or scores is not None):
                self._save(self.output / CHECKPOINTS)

    def _restore(self) -> None:
        """Begin at the saved state, if there is one, with the same weights in all workers."""
        if self.saved is not None:
            state = self.saved.state
            load_optimizer(self.optimizer, self.nlp, self.saved.optimizer, state["counts"])
            for _ in range(self.progress.steps):
                self.optimizer.step_schedules()  # type: ignore[no-untyped-call]
        if not self.workers.is_first:
            self.progress.losses = {}  # the first worker has the sums
        broadcast_weights(self.nlp, self.workers)

    def _is_over(self) -> bool:
        last = self.progress.steps - 1
        if last < 0:
            return False
        _, best = max(self.progress.results, key=lambda result: result[0])  # the first of equals
        patience, max_steps = self.settings["patience"], self.settings["max_steps"]
        is_stuck = patience and last - best >= patience
        return bool(is_stuck or (max_steps and last >= max_steps))

    def _train_step(self, epoch: int, examples: Batch) -> None:
        """Every step and worker has its own seed, so that a resumed training draws the same."""
        settings, nlp, workers = self.settings, self.nlp, self.workers
        numbered = self.progress.steps * workers.size + workers.rank
        fix_random_seed((self.progress.seed + numbered) % 2**32)
        if settings["before_update"]:
            settings["before_update"](nlp, {"step": self.progress.steps, "epoch": epoch})
        for part in subdivide_batch(examples, settings["accumulate_gradient"]):  # type: ignore[no-untyped-call]
            self._add_gradients(part)
        sum_gradients(nlp, self.workers)
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
        add_labels(self.nlp, batch, self.frozen, self.workers)
        part = part_of(batch, self.workers)
        if not part:
            update_without_examples(self.nlp, self.frozen)
            return
        self.nlp.update(
            part,
            drop=self.settings["dropout"],
            losses=self.progress.losses,
            sgd=False,  # type: ignore[arg-type]
            exclude=self.frozen,
            annotates=self.settings["annotating_components"],
        )

    def _evaluate(self) -> dict[str, Any] | None:
        """The scores, if an evaluation is due; those of the first worker, empty in others."""
        step = self.progress.steps - 1
        if step % self.settings["eval_frequency"]:
            return None
        scores: dict[str, Any]
        score, scores = 0.0, {}
        if self.workers.is_first:
            with self.nlp.use_params(self.optimizer.averages or {}):
                score, scores = self.evaluation()
        self.progress.results.append((self.workers.all_gather(score)[0], step))
        self.progress.losses = _sums(self.workers.all_gather(self.progress.losses))
        return scores

    def _report(self, epoch: int, scores: dict[str, Any] | None) -> Info:
        progress = self.progress
        score = None if scores is None else progress.results[-1][0]
        info = {
            "epoch": epoch,
            "step": progress.steps - 1,
            "score": score,
            "other_scores": scores,
            "losses": progress.losses,
            "checkpoints": progress.results,
            "seconds": int(perf_counter() - self.started),
            "words": progress.words,
        }
        return info, None if score is None else score == max(progress.results)[0]

    def _save(self, folder: Path) -> None:
        """Write a checkpoint. Raises ValueError (F442) for an optimizer's state of no component."""
        losses = _sums(self.workers.all_gather(self.progress.losses))
        if not self.workers.is_first:
            return
        seconds = perf_counter() - self.started
        tensors, counts = save_optimizer(self.optimizer, self.nlp)
        state = {
            "config": self.config,
            "progress": asdict(replace(self.progress, losses=losses, seconds=seconds)),
            "counts": counts,
        }

        def write(checkpoint: Path) -> None:
            self.nlp.to_disk(checkpoint / PIPELINE)
            (checkpoint / OPTIMIZER).write_bytes(save(tensors))
            text = json.dumps(state, default=float)  # numpy's numbers
            (checkpoint / STATE).write_text(text, "utf-8")

        write_checkpoint(folder, self.progress.steps, write)

    def write_pipeline(self, is_best: bool) -> None:
        """Write the pipeline with averaged weights as the last and, if it is, the best."""
        if self.output is None or not self.workers.is_first:
            return
        to_write = create_before_to_disk_callback(self.settings["before_to_disk"])
        last, best = self.output / DIR_MODEL_LAST, self.output / DIR_MODEL_BEST
        with self.nlp.use_params(self.optimizer.averages), replacing(last) as temporary:
            to_write(self.nlp).to_disk(temporary)
        if is_best:
            with replacing(best) as temporary:
                shutil.copytree(last, temporary)


def train(trainer: Trainer, stdout: IO[str], stderr: IO[str]) -> None:
    """Train and log like `spacy train`. Only the first worker logs and writes.

    The errors of components and corpora are raised after saving the last pipeline.
    """
    nlp, frozen, output, settings = trainer.nlp, trainer.frozen, trainer.output, trainer.settings
    show = Printer(no_print=True)
    is_first = trainer.workers.is_first
    logger, out = (settings["logger"], stdout) if is_first else (_silent, io.StringIO())
    if output is not None and is_first:
        remove_unfinished(output)
    out.write(show.info(f"Pipeline: {nlp.pipe_names}") + "\n")
    if frozen:
        out.write(show.info(f"Frozen components: {frozen}") + "\n")
    out.write(show.info(f"Initial learn rate: {trainer.optimizer.learn_rate}") + "\n")
    with nlp.select_pipes(disable=frozen):
        log_step, finalize = logger(nlp, out, stderr)
    try:
        for info, is_best in trainer.steps():
            if is_best is not None:
                with nlp.select_pipes(disable=frozen):
                    update_meta(settings, nlp, info)
                trainer.write_pipeline(is_best)
                if output is not None:
                    info["output_path"] = str(output / DIR_MODEL_LAST)
            log_step(info if is_best is not None else None)
    except Exception as error:
        text = f"Aborting and saving the last model. Encountered exception: {error!r}"
        out.write(show.warn(text) + "\n")
        raise
    finally:
        finalize()
        trainer.write_pipeline(False)
    if output is not None:
        good = show.good("Saved pipeline to output directory", output / DIR_MODEL_LAST)
        out.write(good + "\n")


def _silent(*_: object) -> tuple[Callable[[Any], object], Callable[[], object]]:
    """A logger of nothing."""
    return lambda info: None, lambda: None


def _sums(losses: Sequence[dict[str, float]]) -> dict[str, float]:
    """The sums over all workers."""
    names = dict.fromkeys(name for each in losses for name in each)
    return {name: sum(each.get(name, 0.0) for each in losses) for name in names}


def with_own_randomness(items: Iterator[T]) -> Iterator[T]:
    """Iterate with separate states of Python's and NumPy's random numbers, copied from the current
    ones, so that a resumed run can replay a corpus without the training in between."""
    return _drawn(items, (random.getstate(), np.random.get_state()))


def _drawn(items: Iterator[T], own: tuple[Any, Any]) -> Iterator[T]:
    while True:
        own = _swap(own)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            own = _swap(own)
        yield item


def _swap(states: tuple[Any, Any]) -> tuple[Any, Any]:
    """Set states; returns those before."""
    before = random.getstate(), np.random.get_state()
    random.setstate(states[0])
    np.random.set_state(states[1])
    return before
