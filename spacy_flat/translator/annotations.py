"""The extension attributes of Docs: the translation, its sentences and its entities.

`doc.user_data` holds them as plain strings and numbers, which a DocBin with `store_user_data=True`,
pickle and worker processes keep.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from spacy.tokens import Doc


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


def _get(key: str, kind: type[Any], doc: Doc) -> tuple[Any, ...]:
    # A DocBin makes lists of tuples.
    found = (
        [tuple(each) if isinstance(each, list) else each for each in row]
        for row in doc.user_data.get(key, ())
    )
    return tuple(kind(*row) for row in found)


def _set(key: str, doc: Doc, rows: Iterable[tuple[Any, ...]]) -> None:
    doc.user_data[key] = tuple(map(tuple, rows))


if not Doc.has_extension("translation"):
    Doc.set_extension("translation", default=None)
for _key, _kind in (("translation_ents", TranslationEnt), ("translation_sents", SentencePair)):
    if not Doc.has_extension(_key):
        Doc.set_extension(_key, getter=partial(_get, _key, _kind), setter=partial(_set, _key))
