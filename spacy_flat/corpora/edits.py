"""Docs with another text and the same annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from spacy.tokens import Doc, Span

from .tokens import split_off_spaces


class Edit(NamedTuple):
    """Characters [start, end) of a text become `text`."""

    start: int
    end: int
    text: str


def can_edit(doc: Doc) -> bool:
    """Whether the annotation is only what `edited` keeps: entities without ids, missing and blocked
    tokens, `doc.cats` and attributes `doc._`."""
    places = [key[2] for key in doc.user_data if isinstance(key, tuple) and key[:1] == ("._.",)]
    has_ids = any(ent.kb_id or ent.id for ent in doc.ents)
    return not (len(doc.spans) or has_ids or any(place is not None for place in places))


def edited(doc: Doc, edits: Iterable[Edit]) -> Doc:
    """A Doc of characters: the text after edits that don't overlap, and the annotation moved along.

    Text inserted at the ends of an entity stays outside of it. No entity may begin or end within an
    edit.
    """
    edits = sorted(edits, key=lambda edit: edit[:2])
    pieces, last = [], 0
    for start, end, text in edits:
        pieces += [doc.text[last:start], text]
        last = end

    def moved(place: int, ends: bool) -> int:
        return place + sum(
            len(text) - (end - start)
            for start, end, text in edits
            if end <= place and not (ends and start == end == place)
        )

    return _rebuilt(doc, "".join(pieces) + doc.text[last:], moved)


def respelled(doc: Doc, text: str) -> Doc:
    """A Doc of characters with a text of the same length. Keeps what `edited` keeps."""
    return _rebuilt(doc, text, lambda place, ends: place)


def composed(doc: Doc, pieces: Iterable[tuple[str, str]]) -> Doc:
    """A Doc of characters with the vocabulary and the `doc._` attributes of another. Pieces of text
    with a label are entities."""
    spans, text = [], ""
    for piece, label in pieces:
        if label:
            spans.append((len(text), len(text) + len(piece), label))
        text += piece
    new = _characters(doc, text)
    ents = [new.char_span(*span, alignment_mode="contract") for span in spans]
    new.set_ents([ent for ent in ents if ent], default="outside")
    copy_attributes(doc, new)
    return new


def copy_attributes(doc: Doc, new: Doc) -> None:
    """Give a Doc the `doc._` attributes of another."""
    for key, value in doc.user_data.items():
        if isinstance(key, tuple) and key[:1] == ("._.",) and key[2] is None:
            new.user_data[key] = value


def can_insert(doc: Doc, place: int) -> bool:
    """Whether a place is not within an entity."""
    return not any(ent.start_char < place < ent.end_char for ent in doc.ents)


def is_free(doc: Doc, start: int, end: int) -> bool:
    """Whether characters [start, end) are whole tokens that are either all outside of entities or
    all without annotation."""
    span = doc.char_span(start, end)
    if span is None or any(token.ent_type for token in span):
        return False
    return len({token.ent_iob for token in span}) == 1


def _characters(doc: Doc, text: str) -> Doc:
    words, spaces = split_off_spaces(list(text), "")
    return Doc(doc.vocab, words=words, spaces=spaces)


def _rebuilt(doc: Doc, text: str, moved: Callable[[int, bool], int]) -> Doc:
    """moved: where a place of the text is now, as the start or the end of a span."""
    new = _characters(doc, text)

    def move(spans: Iterable[Span]) -> list[Span]:
        found = (
            new.char_span(
                moved(span.start_char, False),
                moved(span.end_char, True),
                label=span.label,
                alignment_mode="contract",
            )
            for span in spans
        )
        return [span for span in found if span]

    runs = [list(run) for _, run in groupby(doc, attrgetter("ent_iob", "ent_type"))]
    unset = [doc[run[0].i : run[-1].i + 1] for run in runs if not run[0].ent_type]
    new.set_ents(
        move(doc.ents),
        missing=move(run for run in unset if run[0].ent_iob == 0),
        blocked=move(run for run in unset if run[0].ent_iob == 3),
        default="outside",
    )
    new.cats = dict(doc.cats)
    new.user_data.update(doc.user_data)
    return new
