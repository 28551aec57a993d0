"""`python -m spacy flat train`: `spacy train` with checkpoints and several processes."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from spacy.cli._util import import_code, parse_config_overrides, setup_gpu, show_validation_error
from spacy.language import DEFAULT_CONFIG
from spacy.util import dict_to_dot, load_config, load_model_from_config, logger
from thinc.api import set_gpu_allocator
from wasabi.printer import Printer

from ..corpora.docs import look_up_once
from ..errors import Errors
from ..util.files import locked, replacing, require_exists
from ..util.messages import logger as log

if TYPE_CHECKING:
    from spacy.language import Language
    from thinc.api import Config

    from ..training.trainer import Saved

Logger = Callable[..., tuple[Callable[..., None], Callable[[], None]]]

# Settings that may differ from those that a run began with.
LENGTH = ("max_steps", "max_epochs", "patience", "eval_frequency")
CHANGEABLE = (*LENGTH, "logger", "gpu_allocator")
FINISHED = "finished.json"  # the config of a finished training


def train(
    ctx: typer.Context,
    config_path: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG", help="Config, with overrides such as --paths.train", allow_dash=True
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "--output-path", "-o", help="Folder for the pipeline")
    ] = None,
    code: Annotated[
        Path | None,
        typer.Option("--code", "-c", help="Python file with registered functions to import"),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-V", help="Show more messages")] = False,
    gpu: Annotated[
        int,
        typer.Option(
            "--gpu-id",
            "-g",
            help="GPU, or -1 for the CPU. With torchrun, 0 or more means one GPU per worker",
        ),
    ] = -1,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Resume from the last checkpoint of the folder, if it has one"
        ),
    ] = False,
    checkpoint_steps: Annotated[
        int,
        typer.Option(help="Steps between additional checkpoints; 0: at evaluations only", min=0),
    ] = 0,
) -> None:
    """Train a pipeline with checkpoints. Config and options are those of `spacy train`, and
    so is the result, but for random numbers.

    Each evaluation saves a checkpoint in the output folder's `checkpoints`, which keeps the last
    two. With --resume, an interrupted run continues from the last one and gives the same result as
    an uninterrupted run.

    torchrun --nproc_per_node 2 -m spacy flat train CONFIG … splits each batch between two workers.
    Workers on several machines need a shared output folder.
    """
    from ..nn.workers import Workers
    from ..training.trainer import Trainer
    from ..training.trainer import train as run_training

    if verbose:
        logger.setLevel(logging.DEBUG)
    overrides = parse_config_overrides(ctx.args)
    import_code(code)
    look_up_once()
    workers = Workers.from_environment()
    show = Printer(no_print=not workers.is_first)
    if not workers.is_first:
        log.setLevel(logging.WARNING)
    setup_gpu(workers.local_rank if gpu >= 0 and workers.size > 1 else gpu, not workers.is_first)
    workers.join(gpu >= 0)
    with ExitStack() as leaving:
        leaving.callback(workers.leave)
        with show_validation_error(config_path):
            config = load_config(config_path, overrides=overrides, interpolate=False)
        # What a config leaves out spaCy fills in, such as the readers of `corpora`.
        given: dict[str, Any] = DEFAULT_CONFIG.merge(config).interpolate()
        if gpu >= 0 and (allocator := given["training"]["gpu_allocator"]):
            set_gpu_allocator(allocator)
        if output is not None and workers.is_first:
            leaving.enter_context(locked(output))
        require_exists(*corpora_of(given))
        if resume and is_finished(output, given):
            show.good("Already finished. Delete the folder to train again", output)
            return
        saved = saved_in(output, resume, given)
        log_file = Path(given["training"].get("logger", {}).get("output_file") or "")
        if resume and workers.is_first and log_file.is_file():  # spaCy would write no other
            log_file.replace(log_file.with_name(f"{log_file.name}.old"))
        workers.all_gather(None)  # no worker writes while others read
        if output is not None and workers.is_first:
            (output / FINISHED).unlink(missing_ok=True)
        nlp = pipeline_of(config, saved, gpu, show)
        show.divider("Training pipeline")
        trainer = Trainer(nlp, output, given, saved, workers, checkpoint_steps)
        trainer.settings["logger"] = with_history(trainer.settings["logger"], trainer.progress.told)
        run_training(trainer, sys.stdout, sys.stderr)
        if output is not None and workers.is_first:
            with replacing(output / FINISHED) as temporary:
                temporary.write_text(json.dumps(given), "utf-8")


def corpora_of(config: dict[str, Any]) -> Iterator[Path]:
    """The paths of spaCy's and our corpus readers. If one is missing, spaCy only warns and trains
    anyway."""
    for block in config.get("corpora", {}).values():
        if block.get("@readers", "").startswith("spacy"):
            paths = (block.get("path"), *block.get("paths", {}).values())
            yield from (Path(path) for path in paths if path)


def is_finished(output: Path | None, config: dict[str, Any]) -> bool:
    """Whether this training has finished in this folder.

    Raises ValueError if another training has (F445), or if this one should be longer but has no
    checkpoint left (F384).
    """
    from ..training.checkpoints import has_checkpoint
    from ..training.trainer import CHECKPOINTS

    if output is None or not (output / FINISHED).is_file():
        return False
    before = json.loads((output / FINISHED).read_text("utf-8"))
    require_same(before, config, output)
    if all(before["training"].get(name) == config["training"].get(name) for name in LENGTH):
        return True
    if not has_checkpoint(output / CHECKPOINTS):
        raise ValueError(Errors.F384.format(path=output))
    return False


def saved_in(output: Path | None, resume: bool, config: dict[str, Any]) -> Saved | None:
    """The checkpoint to resume from.

    Raises ValueError without a folder to resume (F440), for checkpoints without --resume (F441),
    for those of another config (F445), and if all are damaged (F384).
    """
    from ..training.checkpoints import has_checkpoint
    from ..training.trainer import CHECKPOINTS, load

    if output is None:
        if resume:
            raise ValueError(Errors.F440)
        return None
    if not resume and has_checkpoint(output / CHECKPOINTS):
        raise ValueError(Errors.F441.format(path=output / CHECKPOINTS))
    saved = load(output) if resume else None
    if saved is not None:
        require_same(saved.config, config, output)
    return saved


def require_same(before: dict[str, Any], now: dict[str, Any], output: Path) -> None:
    """Raises ValueError (F445) if a setting has changed that may not."""
    old, new = settings_of(before), settings_of(now)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            words = {"path": output, "name": name, "before": old.get(name), "now": new.get(name)}
            raise ValueError(Errors.F445.format(**words))


def settings_of(config: dict[str, Any]) -> dict[str, Any]:
    """The settings by dotted names, without those that may change. Files may move."""
    training = {key: each for key, each in config["training"].items() if key not in CHANGEABLE}
    settings = dict_to_dot({**config, "training": training, "system": {}})
    return {name: each for name, each in settings.items() if not re.search(r"\bpaths?\b", name)}


def with_history(logger: Logger, history: list[dict[str, Any]]) -> Logger:
    """A logger that first logs the evaluations before the checkpoint, so that its log is complete.

    history: these evaluations; later ones are added. Checkpoints save it.
    """

    def set_up(*arguments: Any) -> tuple[Callable[..., None], Callable[[], None]]:
        log_step, finalize = logger(*arguments)
        for info in history:
            log_step(info)

        def keep(info: dict[str, Any] | None) -> None:
            if info is not None:
                history.append({**info, "checkpoints": []})
            log_step(info)

        return keep, finalize

    return set_up


def pipeline_of(config: Config, saved: Saved | None, gpu: int, show: Printer) -> Language:
    """The initialised pipeline, or that of the checkpoint with the new settings."""
    from spacy.training.initialize import init_nlp

    if saved is None:
        show.divider("Initializing pipeline")
        nlp = init_nlp(config, use_gpu=gpu)
        show.good("Initialized pipeline")
        return nlp
    show.info(f"Going on after step {saved.progress.steps - 1}")
    # What may have changed, as it is in the config of a pipeline that was initialised: with spaCy's
    # defaults, and with variables, so that an override such as --paths.train works on it.
    parts, frozen = config["components"], config["training"].get("frozen_components", ())
    others = [name for name in parts if "source" not in parts[name] or name in frozen]
    start = load_model_from_config(config, auto_fill=True, exclude=others)
    given, settings = start.config, saved.nlp.config
    for section in ("paths", "system", "corpora"):
        settings[section].update(given[section])
    settings["training"].update({key: given["training"][key] for key in CHANGEABLE})
    for name, source in start.pipeline:
        if hasattr(pipe := saved.nlp.get_pipe(name), "rehearse_with"):
            pipe.rehearse_with(source.model)  # type: ignore[attr-defined]
    return saved.nlp
