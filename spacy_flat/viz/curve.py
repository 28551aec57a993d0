"""Learning curves as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from .svg import Anchor, picture, polyline, text

WIDTH, HEIGHT = 760, 470  # pixels
LEFT, RIGHT = 84, 736
SCORE, LOSS = (44, 234), (294, 414)  # top and bottom of the panels
COLOURS = ("orange", "green", "purple")  # of the components' losses, in turn
LARGEST = 1e300

Values = list[tuple[int, float]]  # by step


class Evaluation(NamedTuple):
    """An evaluation in training: its step, the dev score, and each component's loss, summed over
    the updates since the previous evaluation."""

    step: int
    score: float
    losses: dict[str, float]


def best_of(evaluations: Sequence[Evaluation]) -> Evaluation:
    """The first with the highest score, which spaCy saves as model-best."""
    return max(evaluations, key=lambda e: e.score if drawable(e.score) else -math.inf)


def series(evaluations: Sequence[Evaluation]) -> dict[str, Values]:
    """The scores, and each component's mean loss per update."""
    found: dict[str, Values] = {"score": [(each.step, each.score) for each in evaluations]}
    before = -1  # steps count from 0
    for step, _, losses in evaluations:
        for name, loss in losses.items():
            found.setdefault(f"loss of {name}", []).append((step, loss / max(1, step - before)))
        before = step
    return found


def drawable(value: float) -> bool:
    """Whether a value is finite, and small enough for differences to be."""
    return abs(value) < LARGEST


def draw(evaluations: Sequence[Evaluation]) -> str:
    """The learning curve as SVG, with a gap at each value that is not finite."""
    scores, *losses = series(evaluations).items()
    best = best_of(evaluations)
    steps = Axis([0, *(each.step for each in evaluations)], LEFT, RIGHT, whole=True)
    shown = [value for _, value in scores[1] if drawable(value)]
    score_axis = Axis(shown, SCORE[1], SCORE[0])
    loss_axis = Axis([0, *(v for _, values in losses for _, v in values)], LOSS[1], LOSS[0])
    share = " (0–1)" * all(0 <= score <= 1 for score in shown)
    parts = [
        *draw_axes(steps, score_axis, f"score on dev{share}"),
        *draw_axes(steps, loss_axis, "loss per update"),
        text((LEFT + RIGHT) / 2, LOSS[1] + 40, "training step (updates)"),
        *draw_line(scores[1], steps, score_axis, "blue"),
    ]
    room = (RIGHT - LEFT) / max(1, len(losses))
    for number, (name, values) in enumerate(losses):
        colour, left = COLOURS[number % len(COLOURS)], LEFT + room * number
        parts += draw_line(values, steps, loss_axis, colour)
        parts.append(text(left, LOSS[0] - 13, name, colour, anchor="start", room=room - 8))
    if drawable(best.score):
        x, y = steps.place(best.step), score_axis.place(best.score)
        anchor: Anchor = "end" if x > (LEFT + RIGHT) / 2 else "start"
        note = f"best {best.score:.4f} at step {best.step:,}"
        parts.append(polyline([(x, y)], "blue", width=10))
        parts.append(text(x, y - 12, note, "blue", anchor=anchor, bold=True))
    return picture(WIDTH, HEIGHT, "Learning curve", parts)


class Axis:
    """A linear map from the range of values to pixels, from `start` to `end`.

    whole: whether the values are whole numbers.
    """

    def __init__(
        self, values: Sequence[float], start: float, end: float, *, whole: bool = False
    ) -> None:
        kept = [value for value in values if drawable(value)]
        low, high = min(kept, default=0.0), max(kept, default=0.0)
        if high - low < 1e-6:
            low, high = min(low, 0.0), max(high, 1.0)
        self.low, self.high, self.start, self.end, self.whole = low, high, start, end, whole

    def place(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """About five round values in the range: multiples of 1, 2 or 5 times a power of 10."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        gap = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        gap = max(gap, 1.0) if self.whole else gap
        first, last = math.ceil(self.low / gap - 1e-9), math.floor(self.high / gap + 1e-9)
        return [multiple * gap for multiple in range(first, last + 1)]


def draw_axes(across: Axis, up: Axis, title: str) -> Iterator[str]:
    """The axes of a panel, with grid lines, tick labels and a title of the vertical one."""
    left, right, bottom, top = across.start, across.end, up.start, up.end
    yield text(left - 60, (top + bottom) / 2, title, turned=True)
    for value in up.ticks():
        y = up.place(value)
        yield polyline([(left, y), (right, y)], "grid")
        yield text(left - 8, y + 4, f"{value:,.6g}", "muted", anchor="end")
    for value in across.ticks():
        yield text(across.place(value), bottom + 19, f"{value:,.6g}", "muted")
    yield polyline([(left, top), (left, bottom), (right, bottom)], "muted")


def draw_line(values: Values, steps: Axis, axis: Axis, colour: str) -> Iterator[str]:
    """A line through each run of finite values."""
    for finite, run in groupby(values, lambda value: drawable(value[1])):
        if finite:
            points = [(steps.place(step), axis.place(value)) for step, value in run]
            yield polyline(points, colour, width=2 if len(points) > 1 else 5)
