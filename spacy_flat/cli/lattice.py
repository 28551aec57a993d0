"""`python -m spacy flat lattice`: the lattice over a text as an SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing
from ..viz.svg import box, group, picture, text, visible
from ._lexicon import load_source
from ._texts import check_text

if TYPE_CHECKING:
    from ..lexicon import Lexicon

MAX_LENGTH = 500  # characters
COLUMNS = 14  # of a row, a character each

# Pixels
COLUMN = 56
MARGIN = 16
LEAST_WIDTH = 392
BAR, GAP = 30, 6  # the height of a word, and what is between two
ENTITY = 26  # the height of the entities above a row
CHARS = 62  # and of the characters with their numbers
ROW_GAP = 18
LEGEND = 20
END = 24  # where the number of a head or tail stands in a word

ENTITY_COLOURS = ("orange", "green", "purple", "red")  # one a label, in turn


class Span(NamedTuple):
    """Characters [start, end) of the text: a word, or an entity with its label as name."""

    start: int
    end: int
    name: str


class Row(NamedTuple):
    """Characters [start, end) of the text, drawn side by side."""

    start: int
    end: int

    def clip(self, span: Span) -> Span:
        """The part of a span in this row, which is empty if end <= start."""
        return span._replace(start=max(span.start, self.start), end=min(span.end, self.end))

    def x(self, place: int) -> float:
        """The left edge of a character, and the right one of that before it."""
        return MARGIN + COLUMN * (place - self.start)

    def edges(self, span: Span) -> tuple[float, float]:
        """Left and right of a span's bar, which runs into the margin where the span goes on in
        another row.
        """
        start, end, _ = self.clip(span)
        left = self.x(start) + (2 if start == span.start else -MARGIN / 2)
        right = self.x(end) - (2 if end == span.end else -MARGIN / 2)
        return left, right


def lattice(
    source: Annotated[
        str, typer.Argument(help='Pipeline package or folder, or a word list; "" for jieba\'s')
    ],
    content: Annotated[str, typer.Argument(metavar="TEXT", help="Text to draw")],
    output: Annotated[
        Path, typer.Argument(metavar="OUT.svg", help="Picture to write", dir_okay=False)
    ],
    component: Annotated[
        str,
        typer.Option("--component", help="The component of the pipeline that has it"),
    ] = "",
) -> None:
    """Draw the lattice over a text: its characters, and the words of a lexicon that match them.

    Each word stands with its head and tail, the places of its first and last character, as FLAT
    sees it (Li et al., ACL 2020, figure 1). A pipeline's entities stand above the characters.
    """
    check(content)
    if output.suffix != ".svg":
        raise ValueError(Errors.F146.format(path=output))
    lexicon, nlp = load_source(source, component=component)
    ents = nlp(content)._.char_ents if nlp else ()
    words = words_in(lexicon, content)
    entities = [Span(*ent) for ent in ents]
    with replacing(output) as temporary:
        temporary.write_text(draw(content, words, entities), encoding="utf-8")
    counts = f"characters {len(content)}, words {len(words)}"
    msg.good(f"{output}: {counts}" + (f", entities {len(entities)}" if nlp else ""))


def check(content: str) -> None:
    """Raise ValueError for a text that is empty (F160), long (F161) or no Unicode (F162)."""
    check_text(content)
    if len(content) > MAX_LENGTH:
        raise ValueError(Errors.F161.format(length=len(content), limit=MAX_LENGTH))


def words_in(lexicon: Lexicon, content: str) -> list[Span]:
    """All words of the lexicon in a text, by start and end."""
    matches = lexicon.match([content])
    places = zip(matches.starts.tolist(), matches.ends.tolist(), strict=True)
    return [Span(start, end, content[start:end]) for start, end in places]


def draw(content: str, words: Sequence[Span], entities: Sequence[Span] = ()) -> str:
    """Return the lattice over a text as the text of an SVG."""
    labels = dict.fromkeys(entity.name for entity in entities)
    colours = {
        label: ENTITY_COLOURS[number % len(ENTITY_COLOURS)] for number, label in enumerate(labels)
    }
    parts: list[str] = []
    y: float = MARGIN
    for row in split_rows(len(content), [*words, *entities]):
        if entities:
            parts += draw_entities(row, entities, colours, y)
            y += ENTITY
        parts += draw_characters(row, content, y)
        y += CHARS
        lanes = stack(row, words)
        for lane in lanes:
            parts += [draw_word(row, word, y) for word in lane]
            y += BAR + GAP
        y += ROW_GAP
    legend = "Words of the lexicon with head (left) and tail (right)"
    if not words:
        legend = "No word of the lexicon occurs here"
    if entities:
        legend += "; above: entities"
    parts.append(text(MARGIN, y, legend, "muted", size=12, anchor="start"))
    width = max(LEAST_WIDTH, COLUMN * min(COLUMNS, len(content)))
    return picture(width + 2 * MARGIN, y + LEGEND, f"Lattice over {visible(content)}", parts)


def split_rows(length: int, spans: Sequence[Span]) -> Iterator[Row]:
    """Yield rows of at most COLUMNS characters, cut where no span is cut if there is such a place
    in the second half of the row.
    """
    inside = {place for span in spans for place in range(span.start + 1, span.end)}
    start = 0
    while length - start > COLUMNS:
        limit = start + COLUMNS
        places = range(limit, limit - COLUMNS // 2, -1)
        end = next((place for place in places if place not in inside), limit)
        yield Row(start, end)
        start = end
    yield Row(start, length)


def stack(row: Row, words: Sequence[Span]) -> list[list[Span]]:
    """The words of a row, whole, in lanes in which none overlap. Words come sorted by start."""
    lanes: list[list[Span]] = []
    for word in words:
        start, end, _ = row.clip(word)
        if start >= end:
            continue
        free = next((lane for lane in lanes if lane[-1].end <= start), None)
        if free is None:
            lanes.append([word])
        else:
            free.append(word)
    return lanes


def draw_characters(row: Row, content: str, y: float) -> Iterator[str]:
    """Yield the characters of a row, each in a box with its place in the text above."""
    for place in range(row.start, row.end):
        x = row.x(place)
        char = visible(content[place])
        yield text(x + COLUMN / 2, y + 12, str(place), "muted", size=11)
        yield box(x + 2, y + 18, COLUMN - 4, 36, "soft", radius=4)
        yield text(
            x + COLUMN / 2, y + 44, char, "ink" if char == content[place] else "muted", size=22
        )


def draw_word(row: Row, word: Span, y: float) -> str:
    """Return a word's part in a row, with the numbers of its head and tail where they are in it."""
    start, end, _ = row.clip(word)
    left, right = row.edges(word)
    parts = [box(left, y, right - left, BAR, "blue", radius=6, opacity=0.18)]
    if start == word.start:
        parts.append(text(left + 6, y + 20, str(word.start), "blue", size=11, anchor="start"))
        left += END
    # A word of one character is its own head and tail.
    if end == word.end and len(word.name) > 1:
        parts.append(text(right - 6, y + 20, str(word.end - 1), "blue", size=11, anchor="end"))
        right -= END
    part = visible(word.name[start - word.start : end - word.start])
    parts.append(text((left + right) / 2, y + 21, part, size=17, room=right - left))
    return group(f"{visible(word.name)} {word.start}–{word.end - 1}", parts)


def draw_entities(
    row: Row, entities: Sequence[Span], colours: dict[str, str], y: float
) -> Iterator[str]:
    """Yield the labels of a row's entities over their characters."""
    for entity in entities:
        start, end, label = row.clip(entity)
        if start >= end:
            continue
        left, right = row.edges(entity)
        middle, room = (left + right) / 2, right - left - 8
        yield box(left, y, right - left, 21, colours[label], radius=4, opacity=0.3)
        yield text(middle, y + 15, visible(label), size=12, bold=True, room=room)
