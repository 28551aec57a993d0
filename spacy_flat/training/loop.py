"""The training loop: spaCy's own, which in addition writes checkpoints, goes on at one, and shares
its batches out to several workers."""

import io
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import IO, Any

from spacy.language import Language
from spacy.pipeline import TrainablePipe
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
from wasabi.printer import Printer

from ..nn.workers import Workers
from ..util.files import remove_unfinished, replacing_folder
from .checkpoint import Progress, Saved, save
from .randomness import random_state, set_random_state, with_own_randomness
from .sharing import add_up_gradients, broadcast_weights, part_of, register_labels, skip_steps

Batch = Sequence[Example]
Scores = dict[str, Any]
Silent = Printer(no_print=True)


@dataclass(frozen=True)
class Interval:
    """When checkpoints are written beside those at evaluations: every so many steps, or minutes; 0
    for never."""

    steps: int = 0
    minutes: float = 0.0

    def is_over(self, step: int, seconds: float) -> bool:
        """seconds: since the last."""
        by_steps = self.steps > 0 and step % self.steps == 0
        return by_steps or (self.minutes > 0 and seconds >= 60 * self.minutes)


class Run:
    """A training: what it learns from, what is told and kept of it, and where it is.

    config: as it was given, for those who go on with it.
    saved: the checkpoint to go on at, if there is one; `nlp` is then its pipeline.
    """

    def __init__(
        self,
        nlp: Language,
        output: Path | None,
        config: dict[str, Any],
        saved: Saved | None,
        workers: Workers,
        interval: Interval,
    ):
        self.nlp, self.output, self.config = nlp, output, config
        self.saved, self.workers, self.interval = saved, workers, interval
        filled = nlp.config.interpolate()
        # As spaCy does: of the functions that it resolves some may draw random numbers.
        self.progress = self._begun(filled["training"]["seed"]) if saved is None else saved.progress
        fix_random_seed(self.progress.seed)
        self.settings: dict[str, Any] = registry.resolve(
            filled["training"], schema=ConfigSchemaTraining
        )
        corpora = [self.settings["train_corpus"], self.settings["dev_corpus"]]
        self.train_corpus, self.dev_corpus = resolve_dot_names(filled, corpora)
        self.optimizer: Optimizer = self.settings["optimizer"]
        self.frozen: list[str] = self.settings["frozen_components"]
        self.evaluate = create_evaluation_callback(
            nlp, self.dev_corpus, self.settings["score_weights"]
        )
        self.batches = self._batches()
        self.started = self.last_saved = perf_counter()

    def steps(self) -> Iterator[tuple[dict[str, Any], bool | None]]:
        """Train. After each step, what `spacy train` tells its logger, and whether it is the best
        so far: None where it was not evaluated."""
        self._restore()
        broadcast_weights(self.nlp, self.workers)
        progress = self.progress
        for number, (epoch, batch) in enumerate(self.batches, progress.steps):
            if self._is_over():
                return
            self._learn(batch, number, epoch)
            score, scores = self._scores(number)
            progress.steps = number + 1
            progress.words += sum(map(len, batch))
            yield self._info(epoch, score, scores), None if score is None else self._is_best()
            if score is not None:
                progress.losses = {}
            self._save(score is not None)

    def write_pipeline(self, is_best: bool) -> None:
        """The pipeline with averaged weights, as the last and maybe the best. Only the first worker
        writes."""
        if self.output is None or not self.workers.is_first:
            return
        to_write = create_before_to_disk_callback(self.settings["before_to_disk"])
        last, best = self.output / DIR_MODEL_LAST, self.output / DIR_MODEL_BEST
        with self.nlp.use_params(self.optimizer.averages), replacing_folder(last) as temporary:
            to_write(self.nlp).to_disk(temporary)
        if is_best:
            with replacing_folder(best) as temporary:
                shutil.copytree(last, temporary)

    def clean_up(self) -> None:
        """Remove what a killed training had begun to write."""
        if self.output is not None and self.workers.is_first:
            remove_unfinished(self.output)

    def _begun(self, seed: int | None) -> Progress:
        """All workers have one seed, also where none is given."""
        chosen = random.SystemRandom().randrange(2**31) if seed is None else seed
        return Progress(self.workers.gathered(chosen)[0])

    def _batches(self) -> Iterator[tuple[int, Batch]]:
        """Epoch and batch of each step that is left. All steps before are gone through again, for
        the order of each epoch depends on the one before it."""
        settings, nlp = self.settings, self.nlp
        batches = create_train_batches(
            nlp, self.train_corpus, settings["batcher"], settings["max_epochs"]
        )
        return islice(with_own_randomness(batches), self.progress.steps, None)

    def _restore(self) -> None:
        """What a checkpoint has beside the pipeline. Workers differ in their random numbers."""
        rank = self.workers.rank
        if self.saved is not None:
            self.saved.restore(self.optimizer)
        if rank:
            self.progress.losses = {}  # the first one has those of all
        if self.saved is not None and rank < len(self.saved.random):
            set_random_state(self.saved.random[rank])
        elif rank:
            fix_random_seed(self.progress.seed + rank)

    def _is_over(self) -> bool:
        """Whether the last step was the last."""
        last = self.progress.steps - 1
        if last < 0:
            return False
        patience, most = self.settings["patience"], self.settings["max_steps"]
        is_stuck = patience and last - self.progress.best_step >= patience
        return bool(is_stuck or (most and last >= most))

    def _learn(self, batch: Batch, number: int, epoch: int) -> None:
        """One step of the optimizer."""
        settings, nlp = self.settings, self.nlp
        if settings["before_update"]:
            settings["before_update"](nlp, {"step": number, "epoch": epoch})
        parts = subdivide_batch(batch, settings["accumulate_gradient"])  # type: ignore[no-untyped-call]
        for some in parts:
            self._add_gradients(some)
        add_up_gradients(nlp, self.workers)
        for pipe in self._learners():
            pipe.finish_update(self.optimizer)
        self.optimizer.step_schedules()  # type: ignore[no-untyped-call]

    def _learners(self) -> list[TrainablePipe]:
        pipes: list[tuple[str, Any]] = self.nlp.pipeline
        return [
            pipe
            for name, pipe in pipes
            if name not in self.frozen
            and getattr(pipe, "is_trainable", False)
            and pipe.model not in (True, False, None)
        ]

    def _add_gradients(self, batch: Batch) -> None:
        """Those of this worker's part."""
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

    def _scores(self, number: int) -> tuple[float | None, Scores | None]:
        """Those of an evaluation, by the first worker, where this step is followed by one."""
        if number % self.settings["eval_frequency"]:
            return None, None
        found: tuple[float, Scores] = (0.0, {})
        if self.workers.is_first:
            with self.nlp.use_params(self.optimizer.averages or {}):
                found = self.evaluate()
        score = self.workers.gathered(found[0])[0]
        self.progress.results.append((score, number))
        self.progress.losses = added(self.workers.gathered(self.progress.losses))
        return score, found[1]

    def _is_best(self) -> bool:
        score, _ = self.progress.results[-1]
        return score == max(self.progress.results)[0]

    def _info(self, epoch: int, score: float | None, scores: Scores | None) -> dict[str, Any]:
        return {
            "epoch": epoch,
            "step": self.progress.steps - 1,
            "score": score,
            "other_scores": scores,
            "losses": self.progress.losses,
            "checkpoints": self.progress.results,
            "seconds": int(self._seconds()),
            "words": self.progress.words,
        }

    def _seconds(self) -> float:
        """Of training, in this process and before."""
        return self.progress.seconds + perf_counter() - self.started

    def _save(self, was_evaluated: bool) -> None:
        """Write a checkpoint where one is due. The clock of the first worker counts."""
        if self.output is None:
            return
        is_due = self.interval.is_over(self.progress.steps, perf_counter() - self.last_saved)
        if self.interval.minutes:
            is_due = self.workers.gathered(is_due)[0]
        if not (is_due or was_evaluated):
            return
        states = self.workers.gathered(random_state())
        losses = added(self.workers.gathered(self.progress.losses))
        if self.workers.is_first:
            progress = replace(self.progress, losses=losses, seconds=self._seconds())
            save(self.output, self.nlp, self.optimizer, self.config, progress, states)
        self.last_saved = perf_counter()


def train(run: Run, stdout: IO[str], stderr: IO[str]) -> None:
    """Train, and tell of it as `spacy train` does. Only the first worker tells.

    Errors of components and corpora are raised, after the pipeline was saved as the last.
    """
    nlp, frozen = run.nlp, run.frozen
    run.clean_up()
    is_telling = run.workers.is_first
    out = stdout if is_telling else io.StringIO()
    out.write(Silent.info(f"Pipeline: {nlp.pipe_names}") + "\n")
    for title, names in (
        ("Frozen components", frozen),
        ("Set annotations on update for", run.settings["annotating_components"]),
    ):
        if names:
            out.write(Silent.info(f"{title}: {names}") + "\n")
    out.write(Silent.info(f"Initial learn rate: {run.optimizer.learn_rate}") + "\n")
    log_step, finalize = nothing, nothing
    if is_telling:
        with nlp.select_pipes(disable=frozen):
            log_step, finalize = run.settings["logger"](nlp, stdout, stderr)
    try:
        for info, is_best in run.steps():
            if is_best is not None and is_telling:
                with nlp.select_pipes(disable=frozen):
                    update_meta(run.settings, nlp, info)
                run.write_pipeline(is_best)
                if run.output is not None:
                    info["output_path"] = str(run.output / DIR_MODEL_LAST)
            log_step(info if is_best is not None else None)
    except Exception as error:
        if run.output is not None:
            text = f"Aborting and saving the last model. Encountered exception: {error!r}"
            out.write(Silent.warn(text) + "\n")
        raise
    finally:
        finalize()
        run.write_pipeline(False)
    if run.output is not None:
        good = Silent.good("Saved pipeline to output directory", run.output / DIR_MODEL_LAST)
        out.write(good + "\n")


def added(losses: Sequence[dict[str, float]]) -> dict[str, float]:
    """Those of all workers."""
    names = dict.fromkeys(name for each in losses for name in each)
    return {name: sum(each.get(name, 0.0) for each in losses) for name in names}


def nothing(_: object = None) -> None:
    """A logger that tells nothing."""
