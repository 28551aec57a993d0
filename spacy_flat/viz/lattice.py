"""The lattice over a text as SVG: the text in lines, and below its characters a bar for each
word and entity."""

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
    """Each word has the places of its first and last character (head and tail in FLAT's figure 1),
    each entity its label."""
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
            parts += draw_bar(bar, MARGIN + COLUMN * (left - start), y + ROW * lane, right - left)
        y += ROW * len(lanes) + MARGIN
    width = 2 * MARGIN + COLUMN * max(1, min(LINE, len(content)))
    return picture(width, y, f"Lattice over {visible(content[:40])}", parts)


def draw_bar(bar: Bar, x: float, y: float, length: int) -> Iterable[str]:
    width = COLUMN * length - 4
    yield box(x + 2, y, width, ROW - 4, bar.colour, opacity=bar.opacity)
    label = visible(bar.label)
    yield text(x + 2 + width / 2, y + 13, label, size=11, room=width - 2)
