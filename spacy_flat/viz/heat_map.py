"""The attention between two texts as a heat map: a row of panels for each block, a panel for each
direction."""

from collections.abc import Sequence

import numpy as np
from jinja2 import Environment

from ..util.arrays import Float32s
from ..viz.svg import picture, text_width, visible

MOST_UNITS = 40  # drawn of each text
MOST_CHARS = 14  # of a unit
FAINT = 0.01  # cells with a smaller share of the largest weight stay blank

# Pixels
MARGIN, GAP, HEADING, NOTE = 20, 40, 46, 20
PANEL, LEAST_PANEL = 420, 170  # the longer side as far as cells allow, and space for a heading
LARGEST_CELL, LEAST_CELL = 28, 16

DIRECTIONS = (("left → right", "each row sums to 1"), ("right → left", "each column sums to 1"))

# The cells of a panel are one unit wide, scaled; not so its text, which browsers draw badly below
# a size of one.
_TEMPLATE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<g font-size="11"><text class="ink" x="20" y="30" font-size="12">attention</text>
<text class="muted" x="80" y="30">0</text>
{% for share in range(10) %}
<rect class="soft" x="{{ 92 + 14 * share }}" y="20" width="14" height="12"/>
<rect class="blue" x="{{ 92 + 14 * share }}" y="20" width="14" height="12"
 opacity="{{ (share / 9) | round(2) }}"/>
{% endfor %}
<text class="muted" x="238" y="30">{{ "%.2f" | format(largest) }}</text>
{% for title, sums, x, y, cells in panels %}
<text class="ink" x="{{ x }}" y="{{ y + 12 }}" font-size="12" font-weight="bold">{{ title }}</text>
<text class="muted" x="{{ x }}" y="{{ y + 28 }}">{{ sums }}</text>
<g transform="translate({{ x + left }} {{ y + top }})">
<g font-size="{{ 0.6 * cell }}">
{% for row in rows %}
<text class="ink" x="{{ -0.2 * cell }}" y="{{ (loop.index0 + 0.72) * cell }}" text-anchor="end">
{{- row }}</text>
{% endfor %}
{% for column in columns %}
{% if turned %}
<text class="ink"
 transform="translate({{ (loop.index0 + 0.72) * cell }} {{ -0.2 * cell }}) rotate(-90)">
{{- column }}</text>
{% else %}
<text class="ink" x="{{ (loop.index0 + 0.5) * cell }}" y="{{ -0.25 * cell }}" text-anchor="middle">
{{- column }}</text>
{% endif %}
{% endfor %}
</g>
<g transform="scale({{ cell }})">
<rect class="soft" width="{{ columns | length }}" height="{{ rows | length }}"/>
{% for row, column, share, title in cells %}
<rect class="blue" x="{{ column }}" y="{{ row }}" width="1" height="1" opacity="{{ share }}">
<title>{{ title }}</title></rect>
{% endfor %}
<path class="line page" stroke-width="0.04" d="
{%- for _ in columns[1:] %}M{{ loop.index }} 0v{{ rows | length }}{% endfor %}
{%- for _ in rows[1:] %}M0 {{ loop.index }}h{{ columns | length }}{% endfor %}"/>
</g>
</g>
{% endfor %}
{% for note in notes %}
<text class="muted" x="20" y="{{ bottom + 20 * loop.index0 + 8 }}">{{ note }}</text>
{% endfor %}
</g>""")


def draw(
    left: Sequence[str], right: Sequence[str], blocks: Sequence[tuple[Float32s, Float32s]]
) -> str:
    """Draw an SVG: units of the left text as rows, units of the right text as columns. All panels
    share their axes and their scale of colours.

    blocks: the attention [L, L'] of the left units, and [L', L] of the right units.
    """
    rows, columns = ([label(unit) for unit in units[:MOST_UNITS]] for units in (left, right))
    shown = [
        [np.nan_to_num(weights[: len(rows), : len(columns)]) for weights in (there, back.T)]
        for there, back in blocks
    ]
    largest = max(float(weights.max()) for block in shown for weights in block) or 1.0
    cell = min(LARGEST_CELL, max(LEAST_CELL, PANEL / max(len(rows), len(columns))))
    turned = any(len(column) > 1 for column in columns)
    labels = max(text_width(column, 0.6) for column in columns) if turned else 0.6
    left_room = cell * (max(text_width(row, 0.6) for row in rows) + 0.4)
    top_room = HEADING + cell * (labels + 0.4)
    width = max(LEAST_PANEL, left_room + cell * len(columns))
    height = top_room + cell * len(rows) + MARGIN
    panels = []
    for number, block in enumerate(shown):
        for place, weights in enumerate(block):
            direction, sums = DIRECTIONS[place]
            cells = []
            for row, column in np.argwhere(weights >= FAINT * largest).tolist():
                weight = float(weights[row, column])
                pair = (rows[row], columns[column])[:: 1 - 2 * place]
                title = f"{' → '.join(pair)}: {weight:.2f}"
                cells.append((row, column, round(weight / largest, 2), title))
            x, y = MARGIN + place * (width + GAP), MARGIN + 34 + number * height
            panels.append((f"block {number + 1}: {direction}", sums, x, y, cells))
    notes = ["Rows: the left text. Columns: the right text."] + [
        f"Shows the first {MOST_UNITS} of {len(units):,} units of the {name} text."
        for name, units in (("left", left), ("right", right))
        if len(units) > MOST_UNITS
    ]
    bottom = MARGIN + 34 + len(shown) * height
    drawn = _TEMPLATE.render(
        rows=rows,
        columns=columns,
        panels=panels,
        notes=notes,
        largest=largest,
        turned=turned,
        cell=cell,
        left=left_room,
        top=top_room,
        bottom=bottom,
    )
    size = 2 * MARGIN + 2 * width + GAP, bottom + NOTE * len(notes) + MARGIN / 2
    return picture(*size, "Alignment of two texts", [drawn])


def label(unit: str) -> str:
    """A unit as it stands on an axis."""
    if not unit:
        return "(empty)"
    return visible(unit if len(unit) <= MOST_CHARS else f"{unit[: MOST_CHARS - 1]}…")
