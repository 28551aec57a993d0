"""Annotated texts as pieces, which augmenters change."""

from itertools import groupby

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from .docs import make_doc

# A text and its label: of an entity, "" outside of entities, None where annotation is missing.
Piece = tuple[str, str | None]
Pieces = list[Piece]


def can_edit(doc: Doc) -> bool:
    """Whether the annotation is only what pieces keep: entities without ids, missing annotation,
    `doc.cats` and attributes `doc._`."""
    places = [key[2] for key in doc.user_data if _is_attribute(key)]
    has_ids = any(ent.kb_id or ent.id for ent in doc.ents)
    has_more = len(doc.spans) or has_ids or any(place is not None for place in places)
    return len(doc) > 0 and not has_more


def pieces_of(doc: Doc) -> Pieces:
    """The entities of a Doc, and what is between them."""
    pieces: Pieces = []
    last = 0
    for ent in [*doc.ents, None]:
        between = doc[last : ent.start if ent else len(doc)]
        for is_missing, tokens in groupby(between, lambda token: token.ent_iob == 0):
            text = "".join(token.text_with_ws for token in tokens)
            pieces.append((text, None if is_missing else ""))
        if ent:
            pieces += [(ent.text, ent.label_), (ent[-1].whitespace_, "")]
            last = ent.end
    return [piece for piece in pieces if piece[0]]


def example_of(nlp: Language, pieces: Pieces, doc: Doc) -> Example:
    """An example of pieces, whose reference has the `doc._` attributes of another Doc."""
    text = "".join(piece for piece, _ in pieces)
    new = make_doc(doc.vocab, text)
    spans: dict[bool, list[Span]] = {True: [], False: []}  # missing annotation, and entities
    end = 0
    for piece, label in pieces:
        start, end = end, end + len(piece)
        span = new.char_span(start, end, label or 0, alignment_mode="contract")
        if label != "" and span:
            spans[label is None].append(span)
    new.set_ents(spans[False], missing=spans[True], default="outside")
    for key, value in doc.user_data.items():
        if _is_attribute(key):
            new.user_data[key] = value
    return Example(nlp.make_doc(text), new)


def _is_attribute(key: object) -> bool:
    return isinstance(key, tuple) and key[:1] == ("._.",)
