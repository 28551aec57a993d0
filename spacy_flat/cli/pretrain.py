"""`python -m spacy flat pretrain`: pretrain an encoder of characters on raw text."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm
from wasabi import msg

from ..util.files import require_exists
from ._lexicon import load_lexicon

if TYPE_CHECKING:
    from ..encoder.training import Report


class Objective(str, Enum):
    """The pretraining objective."""

    mlm = "mlm"
    electra = "electra"
    lm = "lm"


class Precision(str, Enum):
    """Of products of matrices."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"


def pretrain(
    texts: Annotated[
        list[Path], typer.Argument(metavar="TEXT...", help="Text files (UTF-8, plain, .gz or .xz)")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the encoder")],
    hours: Annotated[float, typer.Option(help="How long to train", min=0)] = 0.0,
    steps: Annotated[int, typer.Option(help="Number of steps, instead of hours", min=0)] = 0,
    objective: Annotated[
        Objective,
        typer.Option(
            help="mlm: predict masked characters; electra: find replaced ones; lm: predict the "
            "next and the previous one with LSTMs"
        ),
    ] = Objective.lm,
    lexicon: Annotated[
        str,
        typer.Option(
            "--lexicon", "-l", help="Word list to add to jieba's, or pipeline, for --whole-words"
        ),
    ] = "",
    whole_words: Annotated[
        bool,
        typer.Option("--whole-words/--characters", help="Mask all characters of a word together"),
    ] = True,
    width: Annotated[
        int, typer.Option(help="Width of the layers; 0: 192, or 320 for each LSTM", min=0)
    ] = 0,
    layers: Annotated[int, typer.Option(help="Number of layers; 0: 3, or 1 for LSTMs", min=0)] = 0,
    num_heads: Annotated[
        int, typer.Option("--num-heads", "--heads", help="Attention heads of a Transformer", min=1)
    ] = 6,
    length: Annotated[int, typer.Option(help="Characters read at once", min=8)] = 128,
    batch: Annotated[int, typer.Option(help="Blocks of this length per step", min=1)] = 16,
    masked: Annotated[float, typer.Option(help="Share of characters that are masked")] = 0.15,
    dropout: Annotated[float, typer.Option(help="Dropout")] = 0.0,
    learn_rate: Annotated[float, typer.Option(help="Highest learning rate", min=0)] = 0.001,
    vocabulary: Annotated[
        int, typer.Option(help="Maximum number of known characters", min=1)
    ] = 8000,
    min_count: Annotated[int, typer.Option(help="Rarer characters are unknown", min=1)] = 5,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints", min=1)] = 500,
    precision: Annotated[
        Precision, typer.Option(help="Precision; auto: bfloat16 on a GPU, float32 on a CPU")
    ] = Precision.auto,
    seed: Annotated[int, typer.Option(help="Random seed", min=0)] = 1,
    threads: Annotated[int, typer.Option(help="CPU threads", min=1)] = 1,
    device: Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1 or mps")] = "cpu",
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the last checkpoint in the folder")
    ] = False,
) -> None:
    """Pretrain an encoder of characters on raw text, for `spacy-flat.Encoder.v2` in a config.

    The folder is in Hugging Face's format. You can use its encoder after the first checkpoint, and
    resume an interrupted run; the last two checkpoints are kept. Texts are read line by line, so
    they can be larger than memory.
    """
    import torch

    from ..encoder.options import Budget, EncoderOptions, PretrainOptions
    from ..encoder.training import RUN, check_folder
    from ..encoder.training import pretrain as train
    from ..errors import Errors
    from ..nn.devices import find_device

    if resume and not (out / RUN).exists():
        raise ValueError(Errors.F396.format(path=out))
    # Before the lexicon is built, which takes seconds.
    check_folder(out, resume)
    require_exists(*texts)
    options = PretrainOptions(
        objective=objective.value,
        width=width,
        layers=layers,
        num_heads=num_heads,
        length=length,
        batch=batch,
        masked=masked,
        dropout=dropout,
        learn_rate=learn_rate,
        vocabulary=vocabulary,
        min_count=min_count,
        save_every=save_every,
        precision=precision.value,
        seed=seed,
    )
    budget = Budget(hours, steps)
    place = find_device(device)
    needs_words = whole_words and options.recipe.masks != "none"
    words = load_lexicon(lexicon, add_jieba=True) if needs_words else None
    torch.set_num_threads(threads)
    with tqdm(total=1.0, bar_format="{l_bar}{bar}|{postfix}") as bar:
        done = train(
            texts,
            out,
            options,
            budget,
            words=words,
            resume=resume,
            device=str(place),
            tell=lambda report: show(report, bar),
        )
    longest = length - 2
    if longest < EncoderOptions().max_length:
        msg.info(
            f"It reads {longest} characters at once: set max_length = {longest} in configs that "
            "use it."
        )
    msg.good(
        f"{out}: {done.step:,} steps, {done.characters:,} characters in {done.seconds:,.0f} s, "
        f"held-out loss {done.held_out:.3f}"
    )


def show(report: Report, bar: tqdm) -> None:
    """Move the bar; a line of its own for each checkpoint."""
    bar.set_postfix_str(
        f"loss {report.loss:.3f}, held out {report.held_out:.3f}, "
        f"{report.speed:,.0f} characters/s, {duration(report.left)} left"
    )
    bar.update(report.spent - bar.n)
    if report.is_saved:
        bar.write(
            f"step {report.step:,}, epoch {report.epoch + 1}: "
            f"{report.characters:,} characters in {duration(report.seconds)}, "
            f"loss {report.loss:.3f}, held out {report.held_out:.3f}"
        )


def duration(seconds: float) -> str:
    """ "1:02:03"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
