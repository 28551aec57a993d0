"""A page of texts and their translations side by side, each with its entities, by displaCy."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from spacy import displacy
from spacy.displacy.render import DEFAULT_LABEL_COLORS
from spacy.tokens import Doc

from ..viz.colours import COLOURS
from ..viz.page import html_page
from .annotations import translation_ents
from .names import bare_span

OTHER = "#ddd"  # displaCy's colour of an unknown label

# displaCy's own template, with the other side's name as the title
MARK = (
    '<mark class="entity" title="{title}" style="background: {bg}; padding: 0.45em 0.6em; '
    'margin: 0 0.25em; line-height: 1; border-radius: 0.35em;">{text}<span style="'
    "font-size: 0.8em; font-weight: bold; line-height: 1; border-radius: 0.35em; "
    'vertical-align: middle; margin-left: 0.5rem">{label}</span></mark>'
)


class Mark(NamedTuple):
    """Characters [start, end) of a text to mark as an entity."""

    start: int
    end: int
    label: str
    colour: str
    title: str = ""


def side_by_side(docs: Iterable[Doc], title: str = "Translations") -> str:
    """An HTML page with each text on the left and its translation on the right.

    Each name and its translation have the same colour and number, and each other as title.
    """
    return html_page(title, "\n".join(map(section, docs)))


def section(doc: Doc) -> str:
    left, right = marks(doc)
    drawn = draw(doc.text, left, doc.lang_) + draw(doc._.translation or "", right, "en")
    return f"<section>{drawn}</section>"


def marks(doc: Doc) -> tuple[list[Mark], list[Mark]]:
    """The marks of a text and of its translation, in order."""
    whole = doc.text  # spaCy joins it on each access
    spans = [(bare_span(ent), ent.label_) for ent in doc.ents]
    source = {span: Mark(*span, label, colour(label)) for span, label in spans}
    translation = []
    number = 0
    for ent in translation_ents(doc):
        mark = Mark(ent.start, ent.end, ent.label, colour(ent.label))
        if ent.source is not None:
            number += 1
            start, end = ent.source
            own = source.get(ent.source) or mark._replace(start=start, end=end)
            source[ent.source] = own._replace(label=f"{own.label} {number}", title=ent.text)
            label = f"{ent.label} {number}"
            mark = mark._replace(label=label, colour=own.colour, title=whole[start:end])
        translation.append(mark)
    return sorted(source.values()), translation


def colour(label: str) -> str:
    """displaCy's background for a label."""
    return COLOURS.get(label.upper()) or DEFAULT_LABEL_COLORS.get(label.upper(), OTHER)


def draw(text: str, found: Iterable[Mark], lang: str) -> str:
    ents = [
        {
            "start": mark.start,
            "end": mark.end,
            "label": escape(mark.label.strip()),
            "params": {"bg": mark.colour, "title": escape(mark.title)},
        }
        for mark in found
    ]
    parsed = {"text": text, "ents": ents, "title": None, "settings": {"lang": lang}}
    options = {"template": MARK}
    html = displacy.render(parsed, style="ent", manual=True, jupyter=False, options=options)
    return str(html).strip()
