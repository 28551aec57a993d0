"""Entities between characters and tokens: gold entities to characters, predicted ones to tokens."""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..errors import Errors
from ..text.units import EntitySpan

OnMisaligned = Literal["expand", "contract", "drop"]

_ALIGNMENT = {"expand": "expand", "contract": "contract", "drop": "strict"}  # in spaCy's words
_MOVED = "exact_chars"  # an extension of Span
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

    on_misaligned: an entity that crosses token boundaries is expanded to all tokens that it
        touches, contracted to those that it covers, or dropped. Of entities that then share a token
        the first stays.
    overwrite: drop the Doc's entities; otherwise they and blocked tokens stay, and new entities
        that share a token with them are left out.
    """
    entities, blocked = ([], []) if overwrite else _existing(doc)
    kept = list(entities)
    taken = {place for old in (*entities, *blocked) for place in range(old.start, old.end)}
    for span in spans:
        start, end, label = span
        entity = doc.char_span(start, end, label, alignment_mode=_ALIGNMENT[on_misaligned])
        if entity is not None and taken.isdisjoint(range(entity.start, entity.end)):
            taken.update(range(entity.start, entity.end))
            entities.append(entity)
            _keep_exact(entity, span)
    _forget_ids(doc, kept)
    doc.set_ents(entities, blocked=blocked, default="outside")


def get_char_ents(doc: Doc) -> list[EntitySpan]:
    """`doc._.char_ents`: the entities in `doc.ents`, as (start, end, label) in characters of
    `doc.text`. They are exact also where an entity was expanded or contracted to tokens."""
    return [_exact(ent) for ent in doc.ents]


def _keep_exact(entity: Span, exact: EntitySpan) -> None:
    """Remember how far an entity's exact characters are from its tokens' ends. spaCy keeps such
    attributes of spans right in `Span.as_doc` and `Doc.from_docs`."""
    moved = [exact.start - entity.start_char, exact.end - entity.end_char]
    if any(moved) or entity._.get(_MOVED):
        entity._.set(_MOVED, [exact.label, *moved])


def _exact(ent: Span) -> EntitySpan:
    # What was kept for another entity on the same tokens does not count.
    label, start, end = ent._.get(_MOVED) or ("", 0, 0)
    if label != ent.label_:
        start = end = 0
    return EntitySpan(ent.start_char + start, ent.end_char + end, ent.label_)


def _forget_ids(doc: Doc, kept: Sequence[Span]) -> None:
    """Remove the ids that earlier entities, such as an entity ruler's, left on tokens, but for
    those of the entities that are kept: spaCy's `set_ents` leaves them there."""
    own = {place for ent in kept for place in range(ent.start, ent.end)}
    for place in np.flatnonzero(doc.to_array("ENT_ID")).tolist():
        if place not in own:
            doc[place].ent_id = 0


def _existing(doc: Doc) -> tuple[list[Span], list[Span]]:
    """Entities and blocked tokens."""
    if not doc.has_annotation("ENT_IOB"):
        return [], []
    iob, types = doc.to_array(["ENT_IOB", "ENT_TYPE"]).T
    places = np.flatnonzero((iob == _BEGIN) & (types == 0)).tolist()
    return list(doc.ents), [doc[place : place + 1] for place in places]


if not Doc.has_extension("char_ents"):
    Doc.set_extension("char_ents", getter=get_char_ents)
if not Span.has_extension(_MOVED):
    Span.set_extension(_MOVED, default=None)
