"""The page of errors that `evaluate` writes: gold and predicted entities side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from spacy import displacy
from spacy.tokens import Doc

from ..text.units import EntitySpan
from ..util.plural import counted
from .page import html_page

MOST = 500  # sentences on a page
STYLE = """section p { color: #666; grid-column: 1 / 3; margin: 1rem 0 -1rem }
h2 { font-size: 1rem }
"""


class SentenceErrors(NamedTuple):
    """A sentence (numbered from 1) whose predicted entities differ from the gold ones."""

    number: int
    text: str
    gold: list[EntitySpan]
    predicted: list[EntitySpan]

    @property
    def missed(self) -> list[EntitySpan]:
        return sorted(set(self.gold) - set(self.predicted))

    @property
    def wrong(self) -> list[EntitySpan]:
        return sorted(set(self.predicted) - set(self.gold))


def find_errors(pairs: Iterable[tuple[Doc, Doc]]) -> list[SentenceErrors]:
    """The errors in pairs of gold and predicted Docs, without gold Docs that are not annotated."""
    found = [
        SentenceErrors(number, gold.text, entities_of(gold), entities_of(predicted))
        for number, (gold, predicted) in enumerate(pairs, 1)
        if gold.has_annotation("ENT_IOB")
    ]
    return [errors for errors in found if errors.gold != errors.predicted]


def entities_of(doc: Doc) -> list[EntitySpan]:
    return [EntitySpan(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


def errors_page(title: str, found: Sequence[SentenceErrors]) -> str:
    """The HTML of the first errors."""
    missed, wrong = (
        sum(len(each) for each in all_of)
        for all_of in ([errors.missed for errors in found], [errors.wrong for errors in found])
    )
    summary = (
        f"{counted(len(found), 'sentence')} with errors: {missed:,} gold entities were not "
        f"predicted, {wrong:,} predicted ones are not gold."
    )
    if len(found) > MOST:
        summary += f" The first {MOST} sentences are shown."
    header = "<section><h2>Gold</h2><h2>Predicted</h2></section>"
    body = [f"<p>{summary}</p>", header, *map(section, found[:MOST])]
    return html_page(title, "\n".join(body), STYLE)


def section(errors: SentenceErrors) -> str:
    """The HTML of one sentence, with the differences above it."""
    differences = ", ".join(
        f"{kind} {errors.text[start:end]} ({label})"
        for kind, spans in (("missed", errors.missed), ("wrong", errors.wrong))
        for start, end, label in spans
    )
    sides = "".join(
        displacy.render(
            {"text": errors.text, "ents": [span._asdict() for span in spans], "title": None},
            style="ent",
            manual=True,
            jupyter=False,
        )
        for spans in (errors.gold, errors.predicted)
    )
    return f"<section><p>{errors.number}: {escape(differences)}</p>{sides}</section>"
