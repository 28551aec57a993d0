"""Draw the pictures of README and docs: python docs/pictures/draw.py"""

from collections.abc import Iterator
from pathlib import Path

from spacy_flat.viz.svg import picture, polyline, text

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


# Words of jieba's lexicon in 南京市长江大桥, with head and lane.
WORDS = [
    *(("南京", 0, 0), ("市长", 2, 0), ("大桥", 5, 0)),
    *(("南京市", 0, 1), ("长江", 3, 1)),
    *(("京市", 1, 2), ("长江大桥", 3, 2)),
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
            box(x, y, width, HEIGHT, colour, opacity=0.14),
            box(x, y, width, HEIGHT, f"line {colour}"),
            text(middle, y + 24, title, size=15),
            text(middle, y + 45, example, size=13, room=width - 16),
        ]
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    kind: str,
    *,
    radius: float = 6,
    opacity: float = 1,
) -> str:
    """Return a rectangle: of the kind "blue" it is filled, of the kind "line blue" an outline."""
    shade = f' opacity="{opacity}"' if opacity < 1 else ""
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'rx="{radius}"{shade}/>'
    )


def arrow(start: float, end: float, y: float) -> str:
    """Return an arrow down the gap below `y`, by way of a level stretch where the ends differ."""
    bend = y + GAP / 2 - 3
    points = [(start, y), (start, bend), (end, bend), (end, y + GAP)]
    line = polyline(points if start != end else [points[0], points[-1]], "muted")
    return f'{line}<path class="muted" d="M{end:g} {y + GAP:g}l-4.5 -8h9z"/>'


def pipeline() -> str:
    """The way from a text to `doc.ents`."""
    height = 2 * MARGIN + (len(STEPS) + 2) * (HEIGHT + GAP) - GAP
    return picture(WIDTH, height, "From text to doc.ents", rows())


def lattice() -> str:
    """The lattice over a text: its characters, and words with head and tail."""
    column, top = 56, MARGIN + 62
    parts = []
    for place, char in enumerate("南京市长江大桥"):
        x = MARGIN + column * place
        parts.append(text(x + column / 2, MARGIN + 12, str(place), "muted", size=11))
        parts.append(box(x + 2, MARGIN + 18, column - 4, 36, "soft", radius=4))
        parts.append(text(x + column / 2, MARGIN + 44, char, size=22))
    for word, head, lane in WORDS:
        tail = head + len(word) - 1
        left, right = MARGIN + column * head + 2, MARGIN + column * (tail + 1) - 2
        y = top + 36 * lane
        parts.append(box(left, y, right - left, 30, "blue", opacity=0.18))
        parts.append(text(left + 6, y + 20, str(head), "blue", size=11, anchor="start"))
        parts.append(text(right - 6, y + 20, str(tail), "blue", size=11, anchor="end"))
        parts.append(text((left + right) / 2, y + 21, word, size=17))
    y = top + 36 * 3 + 18
    note = "Words of the lexicon with head (left) and tail (right)"
    parts.append(text(MARGIN, y, note, "muted", anchor="start"))
    return picture(column * 7 + 2 * MARGIN, y + 20, "Lattice over 南京市长江大桥", parts)


if __name__ == "__main__":
    for drawing in (pipeline, lattice):
        path = Path(__file__).with_name(f"{drawing.__name__}.svg")
        path.write_text(drawing(), encoding="utf-8")
