"""`python -m spacy flat curve`: the learning curve of a training log as an SVG."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import read_text_lines, replacing
from ..viz.svg import Anchor, box, circle, picture, polyline, text

# Pixels: a panel for the score above one for the loss, on the same steps, and notes below.
WIDTH, HEIGHT = 760, 470
LEFT, RIGHT = 84, 736
SCORE_TOP, SCORE_BOTTOM = 44, 234
LOSS_TOP, LOSS_BOTTOM = 294, 414
NOTE_HEIGHT = 18

LARGEST = 1e300
LEAST_RANGE = 1e-6  # of an axis: values closer together count as one

SCORE_COLOUR = "blue"
LOSS_COLOURS = ("orange", "green", "purple")  # one a component, in turn


class Point(NamedTuple):
    """An evaluation during training: its step, the dev score, and the loss by component,
    summed over the updates since the evaluation before.
    """

    step: int
    score: float
    losses: dict[str, float]


class Series(NamedTuple):
    """Values to be drawn as one line, at steps. Those that are not finite leave a gap."""

    name: str
    values: list[tuple[int, float]]

    def gaps(self) -> list[int]:
        """The steps at which the value cannot be drawn."""
        return [step for step, value in self.values if not drawable(value)]


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
    for note in gap_notes([score_series(points), *loss_series(points)]):
        msg.warn(note)
    if drawable(best.score):
        msg.good(f"{output}: best score {best.score:.4f} at step {best.step:,}")
    else:
        msg.good(f"{output}: no score is a finite number")


def read_log(path: Path) -> list[Point]:
    """Read the JSON lines of spaCy's console logger. Raises ValueError (F004, F130, F131)."""
    points = []
    for number, line in read_text_lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            losses = {str(name): float(loss) for name, loss in record["losses"].items()}
            points.append(Point(int(record["step"]), float(record["score"]), losses))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise ValueError(Errors.F130.format(path=path, line=number, problem=problem)) from None
    if not points:
        raise ValueError(Errors.F131.format(path=path))
    return points


def best_point(points: Sequence[Point]) -> Point:
    """Return the first point with the highest score, which is the pipeline that spaCy keeps."""
    return max(points, key=lambda p: p.score if drawable(p.score) else -math.inf)


def score_series(points: Sequence[Point]) -> Series:
    """Return the scores."""
    return Series("score", [(point.step, point.score) for point in points])


def loss_series(points: Sequence[Point]) -> list[Series]:
    """Return each component's loss of an update, the mean since the evaluation before.

    Sums would not do: the first evaluation comes after one update, the others after hundreds.
    """
    names = dict.fromkeys(name for point in points for name in point.losses)
    befores = [-1, *(point.step for point in points)]  # steps count from 0
    return [
        Series(
            f"loss of {name}",
            [
                (point.step, point.losses[name] / max(1, point.step - before))
                for before, point in zip(befores, points, strict=False)
                if name in point.losses
            ],
        )
        for name in names
    ]


def score_title(scores: Sequence[float]) -> str:
    """What the axis of the scores is called. Log-probabilities, for one, are below 0."""
    return "score on dev" + " (0–1)" * all(0 <= score <= 1 for score in scores)


def draw(points: Sequence[Point]) -> str:
    """Return the learning curve as the text of an SVG."""
    score, losses = score_series(points), loss_series(points)
    steps = scale([0, *(point.step for point in points)], LEFT, RIGHT)
    scores = scale(values_of([score]), SCORE_BOTTOM, SCORE_TOP)
    loss_scale = scale([0, *values_of(losses)], LOSS_BOTTOM, LOSS_TOP)
    notes = gap_notes([score, *losses])
    parts = [
        *frame(steps, scores, score_title(values_of([score]))),
        *frame(steps, loss_scale, "loss per update"),
        text((LEFT + RIGHT) / 2, LOSS_BOTTOM + 40, "training step (updates)"),
        *draw_losses(losses, steps, loss_scale),
        *draw_series(score, steps, scores, SCORE_COLOUR),
        *mark_best(best_point(points), steps, scores),
    ]
    for number, note in enumerate(notes):
        y = HEIGHT + 6 + NOTE_HEIGHT * number
        parts.append(text(LEFT, y, f"× {note}", "red", anchor="start", room=RIGHT - LEFT))
    return picture(WIDTH, HEIGHT + NOTE_HEIGHT * len(notes), "Learning curve of a training", parts)


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


def drawable(value: float) -> bool:
    """Whether a value is neither NaN nor infinite, nor so large that a difference may be."""
    return abs(value) < LARGEST


def values_of(many: Iterable[Series]) -> list[float]:
    """Return all values that can be drawn."""
    return [value for series in many for _, value in series.values if drawable(value)]


def scale(values: Sequence[float], start: float, end: float) -> Scale:
    """Return the scale that holds all values, and 0 to 1 where they are all one."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high - low < LEAST_RANGE:
        low, high = min(low, 0.0), max(high, 1.0)
    return Scale(low, high, start, end)


def frame(steps: Scale, values: Scale, title: str) -> Iterator[str]:
    """Yield the axes of a panel, with grid lines, tick labels and the title of the y axis."""
    bottom, top = values.start, values.end
    yield text(24, (top + bottom) / 2, title, turned=True)
    for value in values.ticks():
        y = values(value)
        yield polyline([(LEFT, y), (RIGHT, y)], "grid")
        yield text(LEFT - 8, y + 4, f"{value:,.6g}", "muted", anchor="end")
    for value in steps.ticks():
        if value == int(value):
            x = steps(value)
            yield polyline([(x, bottom), (x, bottom + 5)], "muted")
            yield text(x, bottom + 19, f"{value:,.6g}", "muted")
    yield polyline([(LEFT, top), (LEFT, bottom), (RIGHT, bottom)], "muted")


def draw_losses(losses: Sequence[Series], steps: Scale, values: Scale) -> Iterator[str]:
    """Yield a line for each component's loss, and above the panel its name in the same colour."""
    room = (RIGHT - LEFT) / max(1, len(losses))
    for number, series in enumerate(losses):
        colour = LOSS_COLOURS[number % len(LOSS_COLOURS)]
        yield from draw_series(series, steps, values, colour)
        left = LEFT + room * number
        yield box(left, LOSS_TOP - 20, 12, 4, colour)
        yield text(left + 18, LOSS_TOP - 13, series.name, colour, anchor="start", room=room - 26)


def draw_series(series: Series, steps: Scale, values: Scale, colour: str) -> Iterator[str]:
    """Yield a line through each run of finite values, a dot for a value alone, and a red × on the
    axis at each step where there is none.
    """
    for run in runs(series):
        places = [(steps(step), values(value)) for step, value in run]
        if len(run) > 1:
            yield polyline(places, colour, width=2)
        else:
            yield circle(*places[0], 3, colour)
    for step in series.gaps():
        yield text(steps(step), values.start + 4, "×", "red", size=14)


def runs(series: Series) -> list[list[tuple[int, float]]]:
    """Cut a series at the values that are not finite, which are left out."""
    found: list[list[tuple[int, float]]] = [[]]
    for step, value in series.values:
        if drawable(value):
            found[-1].append((step, value))
        else:
            found.append([])
    return [run for run in found if run]


def gap_notes(many: Iterable[Series]) -> list[str]:
    """Say of each series with values that cannot be drawn how many there are, and from when."""
    return [
        f"{series.name}: NaN or infinite at {len(gaps)} of {len(series.values)} evaluations, "
        f"first at step {gaps[0]:,}"
        for series in many
        if (gaps := series.gaps())
    ]


def mark_best(best: Point, steps: Scale, scores: Scale) -> Iterator[str]:
    """Yield a ring at the best point, and its figures above it."""
    if not drawable(best.score):
        return
    x, y = steps(best.step), scores(best.score)
    yield circle(x, y, 6, SCORE_COLOUR)
    yield circle(x, y, 3.5, "page")
    note = f"best {best.score:.4f} at step {best.step:,}"
    anchor: Anchor = "end" if x > (LEFT + RIGHT) / 2 else "start"
    yield text(x, y - 12, note, SCORE_COLOUR, anchor=anchor, bold=True)
