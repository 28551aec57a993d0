"""The page of errors that `evaluate` writes: gold entities beside predicted ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from spacy import displacy
from spacy.tokens import Doc

from ..text.units import EntitySpan
from ..util.plural import counted
from ..viz.page import page_of_columns

MOST = 500  # sentences on a page

STYLE = """section p { color: #666; grid-column: 1 / 3; margin: 1rem 0 -1rem }
h2 { font-size: 1rem }
"""


class SentenceErrors(NamedTuple):
    """A sentence whose predicted entities are not the gold ones."""

    number: int  # of the sentence, from 1
    text: str
    gold: list[EntitySpan]
    predicted: list[EntitySpan]

    @property
    def missed(self) -> set[EntitySpan]:
        return set(self.gold) - set(self.predicted)

    @property
    def wrong(self) -> set[EntitySpan]:
        return set(self.predicted) - set(self.gold)


def find_errors(pairs: Iterable[tuple[Doc, Doc]]) -> list[SentenceErrors]:
    """The errors in pairs of gold and predicted Docs of the same text. Gold Docs that say nothing
    about entities are left out."""
    found = [
        SentenceErrors(number, gold.text, entities_of(gold), entities_of(predicted))
        for number, (gold, predicted) in enumerate(pairs, 1)
        if gold.has_annotation("ENT_IOB")
    ]
    return [errors for errors in found if errors.gold != errors.predicted]


def entities_of(doc: Doc) -> list[EntitySpan]:
    """Entities as characters of the text."""
    return [EntitySpan(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


def errors_page(title: str, found: Sequence[SentenceErrors]) -> str:
    """Return the HTML of the first errors."""
    summary = (
        f"{counted(len(found), 'sentence')} with errors: "
        f"{sum(len(errors.missed) for errors in found):,} gold entities were not predicted, "
        f"{sum(len(errors.wrong) for errors in found):,} predicted ones are not gold."
    )
    if len(found) > MOST:
        summary += f" The first {MOST} sentences are shown."
    sections = "\n".join(map(section, found[:MOST]))
    header = "<section><h2>Gold</h2><h2>Predicted</h2></section>"
    return page_of_columns(title, f"<p>{summary}</p>\n{header}\n{sections}", STYLE)


def section(errors: SentenceErrors) -> str:
    """Return the HTML of one sentence, with the differences named above it."""
    missed = [f"missed {named(errors.text, span)}" for span in sorted(errors.missed)]
    wrong = [f"wrong {named(errors.text, span)}" for span in sorted(errors.wrong)]
    return (
        f"<section><p>{errors.number}: {escape(', '.join([*missed, *wrong]))}</p>"
        f"{drawn(errors.text, errors.gold)}{drawn(errors.text, errors.predicted)}</section>"
    )


def named(text: str, span: EntitySpan) -> str:
    """An entity as its text and label."""
    return f"{text[span.start : span.end]} ({span.label})"


def drawn(text: str, spans: Sequence[EntitySpan]) -> str:
    """Return a text with its entities marked by displaCy."""
    entities = [span._asdict() for span in spans]
    parsed = {"text": text, "ents": entities, "title": None}
    return str(displacy.render(parsed, style="ent", manual=True, jupyter=False))
