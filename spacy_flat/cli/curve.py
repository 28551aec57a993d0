"""`python -m spacy flat curve`: the learning curve of a training log as an SVG."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from wasabi import msg

from ..errors import Errors
from ..files import read_text_lines, replacing

# Pixels: a panel for the score above one for the loss, on the same steps.
WIDTH, HEIGHT = 760, 480
LEFT, RIGHT = 80, 730
SCORE_TOP, SCORE_BOTTOM = 50, 260
LOSS_TOP, LOSS_BOTTOM = 300, 420

SCORE_COLOUR = "#1f5fa8"
LOSS_COLOURS = ("#b4532a", "#5b7f2b", "#7a4c9e", "#8a7a12")  # one a component, in turn


class Point(NamedTuple):
    """An evaluation during training: its step, the dev score (0–1), the loss by component."""

    step: int
    score: float
    losses: dict[str, float]


def curve(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG.jsonl", help="Log of a training", exists=True, dir_okay=False),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT.svg", help="Drawing to write", dir_okay=False)
    ],
) -> None:
    """Draw the score on the dev set and the loss of a training by its steps.

    LOG.jsonl is the `output_file` of the logger `spacy.ConsoleLogger.v3`.
    """
    points = read_log(log)
    with replacing(output) as temporary:
        temporary.write_text(draw(points), encoding="utf-8")
    best = best_point(points)
    msg.good(f"{output}: best score {best.score:.4f} at step {best.step:,}")


def read_log(path: Path) -> list[Point]:
    """Read the JSON lines of spaCy's console logger. Raises ValueError (F004, F130, F131)."""
    points = []
    for number, text in read_text_lines(path):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
            losses = {str(name): float(loss) for name, loss in record["losses"].items()}
            points.append(Point(int(record["step"]), float(record["score"]), losses))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise ValueError(Errors.F130.format(path=path, line=number, problem=problem)) from None
    if not points:
        raise ValueError(Errors.F131.format(path=path))
    return points


def best_point(points: Sequence[Point]) -> Point:
    """Return the first point with the highest score, which is the pipeline that spaCy keeps."""
    return max(points, key=lambda point: -math.inf if math.isnan(point.score) else point.score)


def draw(points: Sequence[Point]) -> str:
    """Return the learning curve as the text of an SVG."""
    steps = scale([point.step for point in points], LEFT, RIGHT)
    scores = scale([point.score for point in points], SCORE_BOTTOM, SCORE_TOP)
    losses = scale(
        [0.0, *(loss for point in points for loss in point.losses.values())], LOSS_BOTTOM, LOSS_TOP
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            *frame(steps, scores, "score on dev"),
            *frame(steps, losses, "loss"),
            label((LEFT + RIGHT) / 2, HEIGHT - 18, "step"),
            *draw_losses(points, steps, losses),
            line(((p.step, p.score) for p in points), steps, scores, SCORE_COLOUR),
            *mark_best(best_point(points), steps, scores),
            "</svg>\n",
        ]
    )


@dataclass(frozen=True)
class Scale:
    """A linear map from `low`–`high` (data) to `start`–`end` (pixels)."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """About five round values within the scale, a multiple of 1, 2 or 5 apart."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        gap = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        first, last = math.ceil(self.low / gap - 1e-9), math.floor(self.high / gap + 1e-9)
        return [multiple * gap for multiple in range(first, last + 1)]


def scale(values: Iterable[float], start: float, end: float) -> Scale:
    """Return the scale that holds all finite values."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    return Scale(low, high if high > low else low + 1, start, end)


def frame(steps: Scale, values: Scale, title: str) -> list[str]:
    """Return the axes of a panel, with grid lines, tick labels and the title of the y axis."""
    bottom, top = values.start, values.end
    parts = [
        f'<path d="M{LEFT} {top}V{bottom}H{RIGHT}" fill="none" stroke="#444"/>',
        label(22, (top + bottom) / 2, title, turned=True),
    ]
    for value in values.ticks():
        y = values(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="#ddd"/>')
        parts.append(label(LEFT - 6, y + 4, f"{value:,.6g}", anchor="end"))
    for value in steps.ticks():
        parts.append(f'<path d="M{steps(value):.1f} {bottom}v5" stroke="#444"/>')
        parts.append(label(steps(value), bottom + 18, f"{value:,.6g}"))
    return parts


def draw_losses(points: Sequence[Point], steps: Scale, losses: Scale) -> list[str]:
    """Return a line for each component's loss, and its name in the same colour."""
    names = list(dict.fromkeys(name for point in points for name in point.losses))
    parts = []
    for index, name in enumerate(names):
        colour = LOSS_COLOURS[index % len(LOSS_COLOURS)]
        pairs = [(point.step, point.losses[name]) for point in points if name in point.losses]
        parts.append(line(pairs, steps, losses, colour))
        parts.append(label(RIGHT, LOSS_TOP + 16 * index, name, anchor="end", colour=colour))
    return parts


def line(pairs: Iterable[tuple[float, float]], xs: Scale, ys: Scale, colour: str) -> str:
    """Return the line through all finite points."""
    places = " ".join(f"{xs(x):.1f},{ys(y):.1f}" for x, y in pairs if math.isfinite(y))
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.8"/>'


def mark_best(best: Point, steps: Scale, scores: Scale) -> list[str]:
    """Return a circle at the best point, and its figures above the panel."""
    if not math.isfinite(best.score):
        return []
    x, y = steps(best.step), scores(best.score)
    text = f"best {best.score:.4f} at step {best.step:,}"
    anchor = "end" if x > (LEFT + RIGHT) / 2 else "start"
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="white" stroke="{SCORE_COLOUR}" '
        'stroke-width="2"/>',
        label(x, y - 12, text, anchor=anchor, colour=SCORE_COLOUR),
    ]


def label(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "middle",
    colour: str = "#333",
    turned: bool = False,
) -> str:
    """Return a text at a place, turned to read upwards for a y axis."""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{turn}>'
        f"{escape(text)}</text>"
    )
