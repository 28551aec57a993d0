"""The attention between two texts as SVG: the units of the left text above, those of the right
text below, and a line between two units, the darker the more they attend to each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..util.arrays import Float32s
from .svg import Svg, picture, polyline, text, text_width, visible

MAX_UNITS = 40  # drawn of each text
MAX_CHARS = 14  # of a unit
MIN_SHARE = 0.05  # of the largest weight, for a line

MARGIN, GAP, SPACE, SIZE = 16, 110, 12, 17  # pixels


@dataclass(frozen=True, eq=False)
class Alignment:
    """What RE2 aligns in two texts (Yang et al., 2019, section 2.2).

    left, right: the units of the texts, characters or tokens; [""] for an empty text.
    blocks: [L, L'] of each block: how much two units attend to each other, both directions' mean.
    """

    left: list[str]
    right: list[str]
    blocks: list[Float32s]

    def to_svg(self) -> Svg:
        """Draw the first 40 units of each text, with a line between two that attend to each other,
        for each block."""
        rows = [[label(unit) for unit in units[:MAX_UNITS]] for units in (self.left, self.right)]
        middles, ends = zip(*map(places_of, rows), strict=True)
        parts: list[str] = []
        y = float(MARGIN)
        for number, block in enumerate(self.blocks, 1):
            parts.append(text(2 * MARGIN, y + 12, f"block {number}", "muted"))
            above, below = y + 40, y + 40 + GAP
            block = np.nan_to_num(block)
            shares = block[: len(rows[0]), : len(rows[1])] / max(float(block.max()), 1e-9)
            for i, j in zip(*(shares >= MIN_SHARE).nonzero(), strict=True):
                line = [(middles[0][i], above + 6), (middles[1][j], below - SIZE)]
                parts.append(polyline(line, "blue", opacity=float(shares[i, j])))
            for labels, places, base in zip(rows, middles, (above, below), strict=True):
                pairs = zip(labels, places, strict=True)
                parts += [text(x, base, unit, size=SIZE) for unit, x in pairs]
            y = below + 2 * MARGIN
        return picture(max(*ends, 200) + 2 * MARGIN, y, "Alignment of two texts", parts)

    _repr_svg_ = to_svg  # for notebooks


def places_of(labels: Sequence[str]) -> tuple[list[float], float]:
    """The middles of units that stand side by side, and where the last one ends."""
    widths = np.array([text_width(unit, SIZE) + SPACE for unit in labels])
    ends = MARGIN + widths.cumsum()
    return (ends - (widths + SPACE) / 2).tolist(), float(ends[-1])


def label(unit: str) -> str:
    if not unit:
        return "(empty)"
    return visible(unit if len(unit) <= MAX_CHARS else f"{unit[: MAX_CHARS - 1]}…")
