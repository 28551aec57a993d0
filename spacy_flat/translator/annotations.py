"""The extension attributes of Docs: the translation, its sentences and its entities.

`doc.user_data` holds them as plain strings and numbers, which a DocBin with `store_user_data=True`,
pickle and worker processes keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spacy.tokens import Doc

from ..errors import Errors

_KEY = "translation_ents"  # in doc.user_data


class TranslationEnt(NamedTuple):
    """An entity of the translation.

    start, end: characters of `doc._.translation`.
    source: (start, end) of the source entity that it translates, characters of `doc.text`.
    """

    text: str
    label: str
    start: int
    end: int
    source: tuple[int, int] | None = None


class SentencePair(NamedTuple):
    """A part of a text and its translation, in characters of both."""

    source: tuple[int, int]
    target: tuple[int, int]


def translation_ents(doc: Doc) -> tuple[TranslationEnt, ...]:
    """The entities of a Doc's translation, in order."""
    return tuple(
        TranslationEnt(text, label, start, end, None if source is None else (source[0], source[1]))
        for text, label, start, end, source in doc.user_data.get(_KEY, ())
    )


def set_translation_ents(doc: Doc, ents: Iterable[TranslationEnt]) -> None:
    """Set the entities of a Doc's translation, in order of position."""
    in_order = sorted(ents, key=lambda ent: (ent.start, ent.end))
    doc.user_data[_KEY] = tuple(tuple(ent) for ent in in_order)


def translation_sents(doc: Doc) -> tuple[SentencePair, ...]:
    """The sentences of a Doc's text and of its translation, in characters of both."""
    found = doc.user_data.get("translation_sents", ())
    return tuple(SentencePair(tuple(source), tuple(target)) for source, target in found)


def set_translation_sents(doc: Doc, sents: Sequence[SentencePair]) -> None:
    doc.user_data["translation_sents"] = tuple(tuple(sent) for sent in sents)


def gold_translation(reference: Doc) -> str | None:
    """The translation of a reference, if it has one. Raises TypeError (F407) for anything but a
    string."""
    value = reference._.translation
    if value is None or isinstance(value, str):
        return value
    words = {"text": reference.text[:40], "value": repr(value)[:60], "type": type(value).__name__}
    raise TypeError(Errors.F407.format(**words))


if not Doc.has_extension("translation"):
    Doc.set_extension("translation", default=None)
if not Doc.has_extension("translation_ents"):
    Doc.set_extension("translation_ents", getter=translation_ents, setter=set_translation_ents)
if not Doc.has_extension("translation_sents"):
    Doc.set_extension("translation_sents", getter=translation_sents, setter=set_translation_sents)
