"""Draw the way from a text to `doc.ents`, step by step: python docs/pictures/draw.py OUT.svg"""

import sys
from collections.abc import Iterator
from pathlib import Path

from spacy_flat.viz.svg import box, picture, polyline, text

# Pixels
WIDTH = 760
MARGIN = 16
HEIGHT, GAP = 58, 26  # of a box, and between two rows
MIDDLE = WIDTH / 2
FULL = WIDTH - 2 * MARGIN

# Rows of boxes: what each is, an example or what it does, and its colour.
TEXT = [("doc.text", "南京市长江大桥", "muted")]
UNITS = [
    ("characters", "南 京 市 长 江 大 桥", "blue"),
    ("bigrams", "南京 京市 市长 长江 …", "blue"),
    ("words of the lexicon", "南京 南京市 市长 长江大桥 …", "blue"),
]
STEPS = [
    ("lattice", "characters and words as nodes, each with head and tail: 南京市 is 0 to 2", "blue"),
    ("embeddings", "character + bigram vectors; word vectors + type, length, frequency", "orange"),
    (
        "relative attention",
        "every node attends to all, by the distances of heads and tails",
        "orange",
    ),
    ("CRF", "tags of the characters: B-LOC I-LOC E-LOC B-LOC I-LOC I-LOC E-LOC", "orange"),
    ("spans of characters", "0 to 3 LOC, 3 to 7 LOC: exact, in doc._.char_ents", "green"),
    ("tokens", "of the pipeline's tokenizer: 南京市 | 长江大桥; spans are fitted to them", "green"),
    ("doc.ents", "南京市 LOC, 长江大桥 LOC", "green"),
]


def rows() -> Iterator[str]:
    """Yield the elements of all rows of boxes from top to bottom, joined by arrows."""
    y = MARGIN
    yield draw_box(MIDDLE - 150, y, 300, *TEXT[0])
    width = (FULL - 2 * MARGIN) / 3
    middles = [MARGIN + width / 2 + (width + MARGIN) * column for column in range(3)]
    for middle, unit in zip(middles, UNITS, strict=True):
        yield arrow(MIDDLE, middle, y + HEIGHT)
        yield draw_box(middle - width / 2, y + HEIGHT + GAP, width, *unit)
        yield arrow(middle, MIDDLE, y + 2 * HEIGHT + GAP)
    y += 2 * (HEIGHT + GAP)
    for number, step in enumerate(STEPS):
        if number:
            yield arrow(MIDDLE, MIDDLE, y - GAP)
        yield draw_box(MARGIN + 70, y, FULL - 140, *step)
        y += HEIGHT + GAP


def draw_box(x: float, y: float, width: float, title: str, example: str, colour: str) -> str:
    """Return a box with a title and a line below it."""
    middle = x + width / 2
    return "".join(
        [
            box(x, y, width, HEIGHT, colour, radius=6, opacity=0.14),
            box(x, y, width, HEIGHT, colour, radius=6, outline=True),
            text(middle, y + 24, title, size=15, bold=True),
            text(middle, y + 45, example, size=13, room=width - 16),
        ]
    )


def arrow(start: float, end: float, y: float) -> str:
    """Return an arrow down the gap below `y`, by way of a level stretch where the ends differ."""
    bend = y + GAP / 2 - 3
    points = [(start, y), (start, bend), (end, bend), (end, y + GAP)]
    return polyline(points if start != end else [points[0], points[-1]], "muted", arrow=True)


def draw() -> str:
    """Return the picture as the text of an SVG."""
    height = 2 * MARGIN + (len(STEPS) + 2) * (HEIGHT + GAP) - GAP
    return picture(WIDTH, height, "From text to doc.ents", rows())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
