"""How far confidence can be relied on, as SVG: by bins, and by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .curve import Axis, draw_axes
from .svg import picture, polyline, text

if TYPE_CHECKING:
    from ..ner.calibration import EntityCalibration

WIDTH, HEIGHT = 760, 380  # pixels
LEFT, RIGHT = (84, 364), (456, 736)
TOP, BOTTOM = 44, 324
SHARES = [0.0, 1.0]


def draw(report: EntityCalibration) -> str:
    """A reliability diagram before and after, and precision by recall."""
    up = Axis(SHARES, BOTTOM, TOP)
    parts: list[str] = []
    for ends, below, beside in ((LEFT, "confidence", "right"), (RIGHT, "recall", "precision")):
        parts += draw_axes(Axis(SHARES, *ends), up, beside)
        parts.append(text(sum(ends) / 2, BOTTOM + 40, below))
    across = Axis(SHARES, *LEFT)
    parts.append(polyline([(LEFT[0], BOTTOM), (LEFT[1], TOP)], "grid"))
    before, after = report.temperature_before, report.temperature_after
    for place, (bins, colour, temperature, error) in enumerate(
        (
            (report.reliability_before, "orange", before, report.ece_before),
            (report.reliability_after, "blue", after, report.ece_after),
        )
    ):
        points = [
            (across.place(total / count), up.place(right / count))
            for total, right, count in bins.tolist()
            if count
        ]
        parts.append(polyline(points, colour, width=2 if len(points) > 1 else 5))
        note = f"temperature {temperature:.2f}: error {100 * error:.1f} %"
        parts.append(text(LEFT[0] + 10, TOP + 18 * (place + 1), note, colour, anchor="start"))
    across = Axis(SHARES, *RIGHT)
    step = max(1, len(report.curve) // 200)
    line = [(across.place(r), up.place(p)) for _, p, r in report.curve[::step]]
    parts.append(polyline(line or [(RIGHT[0], TOP)], "blue", width=2))
    for threshold in (0.9, 0.5, 0.1):
        reached = [(p, r) for share, p, r in report.curve if share >= threshold]
        if reached:
            x, y = across.place(reached[-1][1]), up.place(reached[-1][0])
            parts.append(polyline([(x, y)], "blue", width=8))
            parts.append(text(x - 8, y + 18, f"threshold {threshold}", "blue", anchor="end"))
    return picture(WIDTH, HEIGHT, "Confidence of entities", parts)
