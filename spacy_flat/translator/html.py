"""Texts and their translations side by side, each with its entities, as displaCy draws them."""

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

OTHER = "#ddd"  # displaCy's colour of a label that it does not know

# displaCy's own, with the other side's name as its title
MARK = (
    '<mark class="entity" title="{title}" style="background: {bg}; padding: 0.45em 0.6em; '
    'margin: 0 0.25em; line-height: 1; border-radius: 0.35em;">{text}<span style="'
    "font-size: 0.8em; font-weight: bold; line-height: 1; border-radius: 0.35em; "
    'vertical-align: middle; margin-left: 0.5rem">{label}</span></mark>'
)


class Mark(NamedTuple):
    """An entity as it is drawn: characters [start, end) of its text."""

    start: int
    end: int
    label: str
    colour: str
    title: str = ""


def side_by_side(docs: Iterable[Doc], title: str = "Translations") -> str:
    """The HTML of a page with each text on the left and its translation on the right.

    Names that were carried into the translation have the same colour on both sides, a number that
    they share, and the other side's name as their title.
    """
    sections = "\n".join(section(doc) for doc in docs)
    return html_page(title, sections)


def section(doc: Doc) -> str:
    """The HTML of one text."""
    source, translation = marks(doc)
    left = drawn(doc.text, source, doc.lang_)
    return f"<section>{left}{drawn(doc._.translation or '', translation, 'en')}</section>"


def marks(doc: Doc) -> tuple[list[Mark], list[Mark]]:
    """What is marked in a text and in its translation, in the order of each."""
    whole = doc.text  # which spaCy puts together each time
    spans = [(bare_span(ent), ent.label_) for ent in doc.ents]
    source = {span: Mark(*span, label, colour(label)) for span, label in spans}
    translation = []
    number = 0
    for ent in translation_ents(doc):
        if ent.source is None:
            translation.append(Mark(ent.start, ent.end, ent.label, colour(ent.label)))
            continue
        number += 1
        start, end = ent.source
        own = source.get(ent.source) or Mark(start, end, ent.label, colour(ent.label))
        source[ent.source] = own._replace(label=f"{own.label} {number}", title=ent.text)
        label = f"{ent.label} {number}"
        translation.append(Mark(ent.start, ent.end, label, own.colour, whole[start:end]))
    return sorted(source.values()), translation


def colour(label: str) -> str:
    """The background that displaCy gives to a label."""
    return COLOURS.get(label.upper()) or DEFAULT_LABEL_COLORS.get(label.upper(), OTHER)


def drawn(text: str, found: Iterable[Mark], lang: str) -> str:
    """The HTML of a text with what is marked in it."""
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
    return str(
        displacy.render(parsed, style="ent", manual=True, jupyter=False, options=options)
    ).strip()
