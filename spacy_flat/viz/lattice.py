"""The lattice over a text, drawn with displaCy's spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from spacy import displacy

from ..text.units import EntitySpan
from .page import html_page
from .svg import visible

MOST_DRAWN = 500  # characters
WORD_COLOUR = "#b6d7f5"
FAINT = 0.01  # smaller shares of attention are left out
STYLE = ".spans > span { min-width: 1.6em; text-align: center }\n"


def draw(text: str, words: Iterable[tuple[int, int]], entities: Iterable[EntitySpan] = ()) -> str:
    """An HTML page of what `render` draws."""
    body = render(text, words, entities)
    return html_page(f"Lattice over {visible(text[:40])}", body, STYLE)


def render(text: str, words: Iterable[tuple[int, int]], entities: Iterable[EntitySpan] = ()) -> str:
    """HTML of the text: each word underlined, with the places of its first and last character
    (head and tail in FLAT's figure 1), and each entity with its label."""
    spans = [(start, end, f"{start}–{end - 1}") for start, end in words]
    colours = {label: WORD_COLOUR for _, _, label in spans}
    spans += [(start, end, escape(visible(label))) for start, end, label in entities]
    return _spans(text, spans, colours)


def render_attention(text: str, weights: Mapping[tuple[int, int], float]) -> str:
    """HTML of the text: each character and word that gets attention underlined, with its share in
    per cent, the darker the larger.

    weights: the share of [start, end).
    """
    largest = max(weights.values(), default=0) or 1
    spans, colours = [], {}
    for (start, end), weight in weights.items():
        if weight >= FAINT:
            label = f"{100 * weight:.0f} %"
            spans.append((start, end, label))
            colours[label] = f"rgba(31, 119, 180, {max(0.1, weight / largest):.2f})"
    return _spans(text, spans, colours)


def _spans(text: str, spans: Sequence[tuple[int, int, str]], colours: Mapping[str, str]) -> str:
    parsed = {
        "title": None,
        "tokens": list(map(visible, text)),
        "spans": [
            {"start_token": start, "end_token": end, "label": label} for start, end, label in spans
        ],
    }
    options = {"colors": dict(colours)}
    return str(displacy.render(parsed, style="span", manual=True, options=options, jupyter=False))
