"""The lattice over a text as SVG: lines of text, and below a bar for each word and entity."""

from collections.abc import Iterable
from typing import NamedTuple

from ..text.spans import EntitySpan
from .svg import Svg, box, picture, text, visible

MAX_DRAWN = 500  # characters of a text
LINE = 24  # characters
COLUMN, ROW, MARGIN = 32, 22, 16  # pixels


class Bar(NamedTuple):
    """A span to draw: its label, colour and opacity."""

    start: int
    end: int
    label: str
    colour: str
    opacity: float


def draw(
    content: str, words: Iterable[tuple[int, int]], entities: Iterable[EntitySpan] = ()
) -> Svg:
    """Words have the places of head and tail (as in FLAT's figure 1), entities their label."""
    bars = [Bar(start, end, f"{start}–{end - 1}", "blue", 0.2) for start, end in words]
    bars += [Bar(start, end, label, "orange", 0.35) for start, end, label in entities]
    bars.sort()
    parts: list[str] = []
    y = float(MARGIN)
    for start in range(0, max(1, len(content)), LINE):
        line = content[start : start + LINE]
        for place, char in enumerate(line):
            x = MARGIN + COLUMN * (place + 0.5)
            parts.append(text(x, y + 10, str(start + place), "muted", size=10))
            parts.append(text(x, y + 34, visible(char), size=20))
        y += 44
        lanes: list[int] = []  # where the last bar of each ends
        for bar in bars:
            left, right = max(bar.start, start), min(bar.end, start + len(line))
            if left >= right:
                continue
            lane = next((n for n, end in enumerate(lanes) if end <= left), len(lanes))
            lanes[lane : lane + 1] = [right]
            x, top = MARGIN + COLUMN * (left - start) + 2, y + ROW * lane
            width = COLUMN * (right - left) - 4
            parts.append(box(x, top, width, ROW - 4, bar.colour, opacity=bar.opacity))
            label = visible(bar.label)
            parts.append(text(x + width / 2, top + 13, label, size=11, room=width - 2))
        y += ROW * len(lanes) + MARGIN
    whole = 2 * MARGIN + COLUMN * max(1, min(LINE, len(content)))
    return picture(whole, y, f"Lattice over {visible(content[:40])}", parts)
