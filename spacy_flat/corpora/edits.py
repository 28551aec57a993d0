"""Docs with another text and the same annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from spacy.tokens import Doc, Span, SpanGroup

from .tokens import split_off_spaces


class Edit(NamedTuple):
    """Characters [start, end) of a text become `text`."""

    start: int
    end: int
    text: str


def edited(doc: Doc, edits: Iterable[Edit]) -> Doc:
    """A Doc of characters: the text after edits that don't overlap, and the annotation moved along.

    Entities, missing and blocked tokens, `doc.spans`, `doc.cats` and `user_data` are kept, other
    annotation of tokens isn't. Text inserted at the ends of a span stays outside of it. No span may
    begin or end within an edit.
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


def can_exchange(ent: Span) -> bool:
    """Whether a name can be exchanged for another: it has no id, no attribute `span._` or
    `token._`, and none of `doc.spans` ends within it."""
    doc, start, end = ent.doc, ent.start_char, ent.end_char
    if ent.kb_id or ent.id:
        return False
    for key in doc.user_data:
        place = _place(key)
        if place and (start <= place[0] < end or start < (place[1] or 0) <= end):
            return False
    return not any(start < edge < end for edge in _ends(_spans(doc)))


def can_insert(doc: Doc, place: int) -> bool:
    """Whether a place is not within an entity or a span with a label."""
    spans = [*doc.ents, *(span for span in _spans(doc) if span.label)]
    return not any(span.start_char < place < span.end_char for span in spans)


def is_free(doc: Doc, start: int, end: int) -> bool:
    """Whether characters [start, end) are whole tokens that are either all outside of entities or
    all without annotation, and that no span, `span._` or `token._` overlaps."""
    span = doc.char_span(start, end)
    if span is None or any(token.ent_type for token in span):
        return False
    places = [*map(_place, doc.user_data), *((s.start_char, s.end_char) for s in _spans(doc))]
    touched = any(at and at[0] < end and start < (at[1] or at[0] + 1) for at in places)
    return not touched and len({token.ent_iob for token in span}) == 1


def _spans(doc: Doc) -> Iterator[Span]:
    return (span for group in doc.spans.values() for span in group)


def _ends(spans: Iterable[Span]) -> Iterator[int]:
    return (place for span in spans for place in (span.start_char, span.end_char))


def _place(key: Any) -> tuple[int, int | None] | None:
    """The characters of the token or span to which a key of `user_data` belongs: ("._.", name,
    start, end), without an end for a token."""
    if isinstance(key, tuple) and key[:1] == ("._.",) and key[2] is not None:
        return key[2], key[3]
    return None


def _characters(doc: Doc, text: str) -> Doc:
    words, spaces = split_off_spaces(list(text), "")
    return Doc(doc.vocab, words=words, spaces=spaces)


def _rebuilt(doc: Doc, text: str, moved: Callable[[int, bool], int]) -> Doc:
    """moved: where a place of the text is now, as the start or the end of a span."""
    new = _characters(doc, text)

    def move(span: Span) -> list[Span]:
        start, end = moved(span.start_char, False), moved(span.end_char, True)
        ids: dict[str, Any] = {"label": span.label, "kb_id": span.kb_id, "span_id": span.id}
        found = new.char_span(start, end, alignment_mode="contract", **ids)
        return [found] if found else []

    def move_all(spans: Iterable[Span]) -> list[Span]:
        return [new_span for span in spans for new_span in move(span)]

    unset = [list(run) for _, run in groupby(doc, attrgetter("ent_iob", "ent_type"))]
    runs = [doc[run[0].i : run[-1].i + 1] for run in unset if not run[0].ent_type]
    new.set_ents(
        move_all(doc.ents),
        missing=move_all(run for run in runs if run[0].ent_iob == 0),
        blocked=move_all(run for run in runs if run[0].ent_iob == 3),
        default="outside",
    )
    for name, group in doc.spans.items():
        new.spans[name] = SpanGroup(
            new, name=group.name, attrs=dict(group.attrs), spans=move_all(group)
        )
    new.cats = dict(doc.cats)
    for key, value in doc.user_data.items():
        new_key: Any = key
        place = _place(key)
        if place:
            end = place[1] if place[1] is None else moved(place[1], True)
            new_key = (*key[:2], moved(place[0], False), end)
        new.user_data[new_key] = value
    return new
