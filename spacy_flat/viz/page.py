"""Entities of a text as HTML, by displaCy."""

from __future__ import annotations

from html import escape

from spacy import displacy
from spacy.tokens import Doc


def entities_html(doc: Doc) -> str:
    """HTML of a text with its entities. displaCy doesn't escape labels, which may be anything."""
    ents = [
        {"start": ent.start_char, "end": ent.end_char, "label": escape(ent.label_)}
        for ent in doc.ents
    ]
    parsed = {"text": doc.text, "ents": ents, "title": None}
    return str(displacy.render(parsed, style="ent", manual=True, jupyter=False))
