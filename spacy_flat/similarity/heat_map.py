"""The attention between two texts as a heat map: a row of panels a block, a panel a direction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..viz.svg import box, group, picture, polyline, text, text_width, visible

Weights = NDArray[np.float32]
Block = tuple[Weights, Weights]

MOST_UNITS = 40  # of each text that are drawn
MOST_CHARS = 14  # of a unit

# Pixels
MARGIN = 20
GAP = 40  # between panels
PANEL = 420  # the longer side of a panel, as far as the size of the cells allows it
LEAST_PANEL = 170  # room for its heading
LARGEST_CELL, LEAST_CELL = 28, 16
HEADING, LEGEND, NOTE = 46, 34, 20

COLOUR = "blue"
FAINT = 0.01  # the share of the largest weight below which a cell stays blank
SWATCHES = 10  # of the scale of colours
DIRECTIONS = (
    ("left → right", "each row sums to 1"),
    ("right → left", "each column sums to 1"),
)


def draw(left: Sequence[str], right: Sequence[str], blocks: Sequence[Block]) -> str:
    """The heat map as the text of an SVG: units of the left text as rows, those of the right text
    as columns. Both directions have the same axes, and all panels one scale of colours.

    blocks: the attention [L, L'] of the left units, and [L', L] of the right ones.
    """
    grid = Grid(*([label(unit) for unit in units[:MOST_UNITS]] for units in (left, right)))
    panels = [[grid.part(there), grid.part(back.T)] for there, back in blocks]
    largest = max(float(weights.max()) for block in panels for weights in block) or 1.0
    parts = list(draw_legend(largest))
    y: float = MARGIN + LEGEND
    for number, block in enumerate(panels, 1):
        for place, weights in enumerate(block):
            x = MARGIN + place * (grid.width + GAP)
            direction, sums = DIRECTIONS[place]
            parts.append(text(x, y + 12, f"block {number}: {direction}", bold=True, anchor="start"))
            parts.append(text(x, y + 28, sums, "muted", size=11, anchor="start"))
            parts += grid.draw(x, y + HEADING, weights / largest, largest, mirrored=place == 1)
        y += HEADING + grid.height + MARGIN
    for note in notes(left, right):
        parts.append(text(MARGIN, y + 8, note, "muted", size=11, anchor="start"))
        y += NOTE
    width = 2 * MARGIN + 2 * grid.width + GAP
    return picture(width, y + MARGIN / 2, "Alignment of two texts", parts)


def label(unit: str) -> str:
    """A unit as it stands on an axis."""
    if not unit:
        return "(empty)"
    return visible(unit if len(unit) <= MOST_CHARS else f"{unit[: MOST_CHARS - 1]}…")


def draw_legend(largest: float) -> Iterator[str]:
    """Yield the scale of colours, from 0 to the largest weight."""
    x, y = MARGIN, MARGIN
    yield text(x, y + 10, "attention", size=12, anchor="start")
    x += 66
    yield text(x, y + 10, "0", "muted", size=11, anchor="end")
    x += 6
    for number in range(SWATCHES):
        yield box(x, y, 14, 12, "soft")
        yield box(x, y, 14, 12, COLOUR, opacity=number / (SWATCHES - 1))
        x += 14
    yield text(x + 6, y + 10, f"{largest:.2f}", "muted", size=11, anchor="start")


def notes(left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    """Yield what the axes are, and of each text that is too long how much of it is drawn."""
    yield "Rows: the left text. Columns: the right text."
    for name, units in (("left", left), ("right", right)):
        if len(units) > MOST_UNITS:
            yield f"Of the {name} text the first {MOST_UNITS} of {len(units):,} units are drawn."


@dataclass(frozen=True)
class Grid:
    """The axes that all panels have. rows, columns: labels of units."""

    rows: Sequence[str]
    columns: Sequence[str]

    @property
    def cell(self) -> float:
        """The side of a cell."""
        longer = max(len(self.rows), len(self.columns))
        return min(LARGEST_CELL, max(LEAST_CELL, PANEL / longer))

    @property
    def size(self) -> float:
        """The size of the labels' type."""
        return self.cell * 0.6

    @property
    def is_turned(self) -> bool:
        """Whether the labels of the columns read upwards, as they are not all single characters."""
        return any(len(column) > 1 for column in self.columns)

    @property
    def left(self) -> float:
        """The room for the labels of the rows."""
        return max(text_width(row, self.size) for row in self.rows) + 8

    @property
    def top(self) -> float:
        """The room for the labels of the columns."""
        if not self.is_turned:
            return self.size + 8
        return max(text_width(column, self.size) for column in self.columns) + 8

    @property
    def width(self) -> float:
        return max(LEAST_PANEL, self.left + self.cell * len(self.columns))

    @property
    def height(self) -> float:
        return self.top + self.cell * len(self.rows)

    def part(self, weights: Weights) -> Weights:
        """[L, L'] → [rows, columns] what is drawn; those that are no numbers as 0."""
        return np.nan_to_num(weights[: len(self.rows), : len(self.columns)])

    def draw(
        self, x: float, y: float, shares: Weights, largest: float, *, mirrored: bool
    ) -> Iterator[str]:
        """Yield a panel.

        shares: [rows, columns] of the largest weight.
        mirrored: the columns attend to the rows.
        """
        yield from self._draw_labels(x, y)
        x, y, side = x + self.left, y + self.top, self.cell
        width, height = side * len(self.columns), side * len(self.rows)
        yield box(x, y, width, height, "soft")
        for row, column in np.argwhere(shares >= FAINT).tolist():
            share = float(shares[row, column])
            units = (self.rows[row], self.columns[column])
            pair = " → ".join(reversed(units) if mirrored else units)
            filled = box(x + side * column, y + side * row, side, side, COLOUR, opacity=share)
            yield group(f"{pair}: {share * largest:.2f}", [filled])
        for column in range(1, len(self.columns)):
            yield polyline([(x + side * column, y), (x + side * column, y + height)], "page")
        for row in range(1, len(self.rows)):
            yield polyline([(x, y + side * row), (x + width, y + side * row)], "page")

    def _draw_labels(self, x: float, y: float) -> Iterator[str]:
        middle, base = (
            self.cell / 2,
            self.size * 0.36,
        )  # from the middle of a letter to its base line
        for number, row in enumerate(self.rows):
            at = y + self.top + self.cell * number + middle + base
            yield text(x + self.left - 6, at, row, size=self.size, anchor="end")
        for number, column in enumerate(self.columns):
            at = x + self.left + self.cell * number + middle
            if self.is_turned:
                at += base
                yield text(
                    at, y + self.top - 6, column, size=self.size, anchor="start", turned=True
                )
            else:
                yield text(at, y + self.top - 7, column, size=self.size)
