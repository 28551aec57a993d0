"""Entities between characters and tokens: gold entities to characters, predicted ones to tokens."""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ENT_IOB, ENT_TYPE, LENGTH, SPACY
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..errors import Errors
from .segments import EntitySpan

OnMisaligned = Literal["expand", "contract", "drop"]

_BEGIN = 3  # ENT_IOB of the first token of an entity; without a type: of a blocked token
_UNSET = 0  # ENT_IOB of a token of which nothing is known


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
        EntitySpan(int(places[before[span.start]]), int(places[before[span.end] - 1]) + 1, span.label)
        for span in spans
        if before[span.start] < before[span.end]
    ]


def _bare(text: str) -> str:
    return "".join(text.split()).lower()


def trim(span: EntitySpan, text: str) -> list[EntitySpan]:
    """The span without white space at its ends, which no entity of spaCy's has; or nothing."""
    piece = text[span.start : span.end]
    bare = piece.strip()
    start = span.start + piece.index(bare)
    return [EntitySpan(start, start + len(bare), span.label)] if bare else []


def set_entities(
    doc: Doc, spans: Sequence[EntitySpan], on_misaligned: OnMisaligned, overwrite: bool
) -> None:
    """Write entities to `doc.ents`, all other tokens being outside of any.

    on_misaligned: an entity that cuts tokens is expanded to them, contracted to the tokens that it
        covers, or dropped. Of entities that then share a token the first stays.
    overwrite: drop the Doc's entities; otherwise they and blocked tokens stay, and new entities
        give way to them.
    """
    kept, blocked = ([], []) if overwrite else _existing(doc)
    taken = np.zeros(len(doc), dtype=bool)
    for span in (*kept, *blocked):
        taken[span.start : span.end] = True
    entities = list(kept)
    for (start, end), span in zip(_to_tokens(doc, spans, on_misaligned), spans, strict=True):
        if start < end and not taken[start:end].any():
            taken[start:end] = True
            entities.append(Span(doc, start, end, label=span.label))
    doc.set_ents(entities, blocked=blocked, default="outside")


def _existing(doc: Doc) -> tuple[list[Span], list[Span]]:
    """Entities and blocked tokens."""
    iob, types = doc.to_array([ENT_IOB, ENT_TYPE]).T
    places = np.flatnonzero((iob == _BEGIN) & (types == 0)).tolist()
    return list(doc.ents), [doc[place : place + 1] for place in places]


def _to_tokens(
    doc: Doc, spans: Sequence[EntitySpan], on_misaligned: OnMisaligned
) -> list[tuple[int, int]]:
    """Spans of characters → (first token, last token + 1), empty where there is none."""
    if not spans:
        return []
    heads, tails = token_ends(doc)
    starts = np.array([span.start for span in spans])
    ends = np.array([span.end for span in spans])
    # Tokens are in order: the first that ends behind the start, the last that starts before the end
    outer = np.searchsorted(tails, starts, "right"), np.searchsorted(heads, ends, "left")
    inner = np.searchsorted(heads, starts, "left"), np.searchsorted(tails, ends, "right")
    first, last = outer if on_misaligned == "expand" else inner
    if on_misaligned == "drop":
        last = np.where((outer[0] == inner[0]) & (outer[1] == inner[1]), last, first)
    return list(zip(first.tolist(), last.tolist(), strict=True))


def token_ends(doc: Doc) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[tokens] places of their first characters, and behind their last."""
    # An array of attributes costs a fraction of a loop over tokens, each of which is an object.
    lengths, spaces = doc.to_array([LENGTH, SPACY]).astype(np.int64).reshape(-1, 2).T
    heads = np.cumsum(lengths + spaces) - lengths - spaces
    return heads, heads + lengths
