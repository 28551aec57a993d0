"""`python -m spacy flat curve`: the learning curve of a training log as an SVG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import read_text_lines, replacing
from ..viz.curve import Evaluation, best_of, draw, drawable, series
from ._texts import check_output


def curve(
    log: Annotated[
        Path, typer.Argument(metavar="LOG.jsonl", help="Training log", exists=True, dir_okay=False)
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT.svg", help="Picture to write", dir_okay=False)
    ],
) -> None:
    """Plot the dev score and the loss of a training run by step.

    LOG.jsonl is the `output_file` of the logger `spacy.ConsoleLogger.v3`.
    """
    check_output(output, ".svg")
    evaluations = read_log(log)
    with replacing(output) as temporary:
        temporary.write_text(draw(evaluations), encoding="utf-8")
    for name, values in series(evaluations).items():
        gaps = [step for step, value in values if not drawable(value)]
        if gaps:
            where = f"{len(gaps)} of {len(values)} evaluations, first at step {gaps[0]:,}"
            msg.warn(f"{name}: NaN or infinite at {where}")
    best = best_of(evaluations)
    if drawable(best.score):
        msg.good(f"{output}: best score {best.score:.4f} at step {best.step:,}")
    else:
        msg.good(f"{output}: no score is a finite number")


def read_log(path: Path) -> list[Evaluation]:
    """Read the JSON lines of spaCy's console logger. Raises ValueError (F004, F130, F131)."""
    found = []
    for number, line in read_text_lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            losses = {str(name): float(loss) for name, loss in record["losses"].items()}
            found.append(Evaluation(int(record["step"]), float(record["score"]), losses))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise ValueError(Errors.F130.format(path=path, line=number, problem=problem)) from None
    if not found:
        raise ValueError(Errors.F131.format(path=path))
    return found
