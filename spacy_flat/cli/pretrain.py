"""`python -m spacy flat pretrain`: an encoder of characters from raw text."""

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
    """What is learnt."""

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
    steps: Annotated[int, typer.Option(help="How many steps, instead of hours", min=0)] = 0,
    objective: Annotated[
        Objective,
        typer.Option(
            help="mlm: tell masked characters; electra: find replaced ones; lm: tell the next and "
            "the previous one by LSTMs"
        ),
    ] = Objective.lm,
    lexicon: Annotated[
        str,
        typer.Option(
            "--lexicon",
            "-l",
            help="Word list beside jieba's, or pipeline, whose words are masked whole",
        ),
    ] = "",
    whole_words: Annotated[
        bool,
        typer.Option("--whole-words/--characters", help="Mask all characters of a word together"),
    ] = True,
    width: Annotated[
        int, typer.Option(help="Of the layers; 0: 192, and 320 of each LSTM", min=0)
    ] = 0,
    layers: Annotated[int, typer.Option(help="0: 3, and 1 of LSTMs", min=0)] = 0,
    num_heads: Annotated[
        int, typer.Option("--num-heads", "--heads", help="Of a Transformer's attention", min=1)
    ] = 6,
    length: Annotated[int, typer.Option(help="Characters read at once", min=8)] = 128,
    batch: Annotated[int, typer.Option(help="Such blocks of characters a step", min=1)] = 16,
    masked: Annotated[float, typer.Option(help="Share of characters that are masked")] = 0.15,
    dropout: Annotated[float, typer.Option(help="In pretraining")] = 0.0,
    learn_rate: Annotated[float, typer.Option(help="The highest", min=0)] = 0.001,
    vocabulary: Annotated[int, typer.Option(help="Most characters that are known", min=1)] = 8000,
    min_count: Annotated[int, typer.Option(help="Rarer characters are unknown", min=1)] = 5,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints", min=1)] = 500,
    precision: Annotated[
        Precision, typer.Option(help="auto: bfloat16 on a GPU, float32 on a CPU")
    ] = Precision.auto,
    seed: Annotated[int, typer.Option(help="Of the random numbers", min=0)] = 1,
    threads: Annotated[int, typer.Option(help="Of a CPU", min=1)] = 1,
    device: Annotated[
        str, typer.Option(help="What it computes on: cpu, cuda, cuda:1 or mps")
    ] = "cpu",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on at the last checkpoint in the folder")
    ] = False,
) -> None:
    """Pretrain an encoder of characters on raw text, for `spacy-flat.Encoder.v2` in a config.

    The folder is in Hugging Face form. It has an encoder from the first checkpoint on, and can be
    resumed where the training was stopped; the last two checkpoints are kept. Texts are read a line
    at a time, so that they may be larger than the memory.
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
            f"It reads {longest} characters at once: set max_length = {longest} where a config "
            "uses it."
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
