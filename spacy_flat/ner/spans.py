"""Entities between characters and tokens: gold entities to characters, predicted ones to tokens."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..errors import Errors
from ..text.units import EntitySpan

OnMisaligned = Literal["expand", "contract", "drop"]

_ALIGNMENT = {"expand": "expand", "contract": "contract", "drop": "strict"}  # in spaCy's words
_BEGIN = 3  # ENT_IOB of the first token of an entity; without a type: of a blocked token


def has_gold(example: Example) -> bool:
    """Whether there is anything to learn: a text, and a reference that says what is an entity."""
    return len(example.predicted) > 0 and example.reference.has_annotation("ENT_IOB")


def gold_spans(example: Example) -> list[EntitySpan] | None:
    """Characters of the predicted Doc's text that are entities, in order; None where the
    reference says nothing about entities.

    Raises ValueError (F304) where the texts of both differ in more than white space and case.
    """
    reference = example.reference
    if not reference.has_annotation("ENT_IOB"):
        return None
    spans = [EntitySpan(ent.start_char, ent.end_char, ent.label_) for ent in reference.ents]
    source, target = reference.text, example.predicted.text
    return spans if source == target else _move(spans, source, target)


def _move(spans: Iterable[EntitySpan], source: str, target: str) -> list[EntitySpan]:
    """The same spans in a text that differs in white space and case only."""
    places = np.array([i for i, char in enumerate(target) if not char.isspace()], dtype=np.int64)
    before = np.cumsum([0, *(not char.isspace() for char in source)])
    if before[-1] != len(places) or _bare(source) != _bare(target):
        raise ValueError(Errors.F304.format(reference=source[:40], predicted=target[:40]))
    return [
        EntitySpan(
            int(places[before[span.start]]), int(places[before[span.end] - 1]) + 1, span.label
        )
        for span in spans
        if before[span.start] < before[span.end]
    ]


def _bare(text: str) -> str:
    return "".join(text.split()).lower()


def set_entities(
    doc: Doc, spans: Iterable[EntitySpan], on_misaligned: OnMisaligned, overwrite: bool
) -> None:
    """Write entities to `doc.ents`, all other tokens being outside of any.

    on_misaligned: an entity that cuts tokens is expanded to them, contracted to the tokens that it
        covers, or dropped. Of entities that then share a token the first stays.
    overwrite: drop the Doc's entities; otherwise they and blocked tokens stay, and new entities
        give way to them.
    """
    entities, blocked = ([], []) if overwrite else _existing(doc)
    taken = {place for old in (*entities, *blocked) for place in range(old.start, old.end)}
    for start, end, label in spans:
        entity = doc.char_span(start, end, label, alignment_mode=_ALIGNMENT[on_misaligned])
        if entity is not None and taken.isdisjoint(range(entity.start, entity.end)):
            taken.update(range(entity.start, entity.end))
            entities.append(entity)
    doc.set_ents(entities, blocked=blocked, default="outside")


def _existing(doc: Doc) -> tuple[list[Span], list[Span]]:
    """Entities and blocked tokens."""
    if not doc.has_annotation("ENT_IOB"):
        return [], []
    iob, types = doc.to_array(["ENT_IOB", "ENT_TYPE"]).T
    places = np.flatnonzero((iob == _BEGIN) & (types == 0)).tolist()
    return list(doc.ents), [doc[place : place + 1] for place in places]
