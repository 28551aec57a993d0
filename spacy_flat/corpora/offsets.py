"""JSON with entities as character offsets, one record a line or all of them in one array.

CLUENER's records have, by type and surface, inclusive offsets (CLUENER2020, Xu et al. 2020,
arXiv:2001.04351; also the layout of `assets/demo`):

    {"text": "温格战胜曼联", "label": {"name": {"温格": [[0, 1]]}, "team": {"曼联": [[4, 5]]}}}

Doccano's records have exclusive ends; the name of the list is "label", "labels" or "entities":

    {"text": "温格战胜曼联", "label": [[0, 2, "name"], [4, 6, "team"]]}

Pairs are the training data of spaCy's `Example.from_dict`, with exclusive ends:

    ["温格战胜曼联", {"entities": [[0, 2, "name"], [4, 6, "team"]]}]
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import Errors
from ..files import read_text_lines
from ..text.units import EntitySpan
from .sentence import Repairs, Sentence

Layout = Literal["cluener", "doccano", "spacy"]

LAYOUTS: dict[Layout, str] = {
    "cluener": '{"text": "…", "label": {TYPE: {surface: [[start, end], …]}}}',
    "doccano": '{"text": "…", "label": [[start, end, TYPE], …]}',
    "spacy": '["…", {"entities": [[start, end, TYPE], …]}]',
}
DOCCANO_KEYS = ("label", "labels", "entities")  # of the list, by version and export

_SPACE = re.compile(r"\s*")


class Mention(NamedTuple):
    """An entity as a record names it: characters [start, end), and how the file writes them.

    surface: its text, where the record says it.
    """

    label: str
    start: int
    end: int
    offsets: str
    surface: str | None = None


@dataclass(frozen=True)
class OffsetReader:
    """Reads one file of records. Units are the characters of the text."""

    path: Path
    layout: Layout
    repairs: Repairs

    def __iter__(self) -> Iterator[Sentence]:
        """Yield the sentences. Raises ValueError (F004, F106 to F109, F119)."""
        parse = PARSERS[self.layout]
        for line, raw in read_records(self.path):
            self.repairs.n_lines += 1
            try:
                text, mentions = parse(load(raw))
                check_characters(text, mentions)
            except ValueError as problem:
                layout = LAYOUTS[self.layout]
                error = Errors.F106.format(
                    path=self.path, line=line, layout=layout, problem=problem
                )
                self.repairs.count_line("malformed line dropped", error)
                continue
            entities = [
                EntitySpan(mention.start, mention.end, mention.label)
                for mention in mentions
                if self._is_in_text(line, text, mention)
            ]
            yield Sentence(list(text), self._without_overlap(line, text, entities), line)

    def _is_in_text(self, line: int, text: str, mention: Mention) -> bool:
        label, start, end, offsets, surface = mention
        where = {"path": self.path, "line": line, "label": label, "offsets": offsets}
        if not 0 <= start < end <= len(text):
            error = Errors.F107.format(**where, length=len(text))
            self.repairs.count_label("entity outside the text dropped", error)
            return False
        found = text[start:end]
        if surface is not None and found != surface:
            error = Errors.F108.format(**where, surface=surface, found=found)
            self.repairs.count_label("entity with another surface dropped", error)
            return False
        return True

    def _without_overlap(
        self, line: int, text: str, entities: list[EntitySpan]
    ) -> list[EntitySpan]:
        """Keep the longer of two overlapping entities, the first of two equally long ones."""
        kept: list[EntitySpan] = []  # by their place, so that the ends are sorted, too
        ends: list[int] = []
        for entity in sorted(entities, key=_longest_first):
            place = bisect_right(ends, entity.start)
            # No kept one is shorter, so that two at most overlap this one: at its two ends.
            others = [other for other in kept[place : place + 2] if other.start < entity.end]
            if not others:
                kept.insert(place, entity)
                ends.insert(place, entity.end)
                continue
            other = min(others, key=_longest_first)
            error = Errors.F109.format(
                path=self.path,
                line=line,
                label=entity.label,
                surface=text[entity.start : entity.end],
                other_label=other.label,
                other_surface=text[other.start : other.end],
            )
            self.repairs.count_label("overlapping entity dropped", error)
        return kept


def _longest_first(entity: EntitySpan) -> tuple[int, int]:
    return entity.start - entity.end, entity.start


# Records of a file


def detect_layout(path: Path) -> Layout | None:
    """Tell the layout of a file by its first record; None where it is not JSON, or no "text"."""
    opening = _opening(path)
    if opening.startswith(('["', '[["')):
        return "spacy"
    if not has_objects(path):
        return None
    _, raw = next(read_records(path))
    try:
        record = load(raw)
    except ValueError:
        return "cluener" if '"text"' in raw else None
    if "text" not in record:
        return None
    has_list = any(isinstance(record.get(key), list) for key in DOCCANO_KEYS)
    return "doccano" if has_list else "cluener"


def has_objects(path: Path) -> bool:
    """Whether a file begins with a JSON object, by itself or in an array."""
    return _opening(path).startswith(('{"', '[{"'))


def read_records(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, JSON) of each record, from a line each or from one array of them all.

    Raises ValueError (F119) where an array cannot be read to its end; otherwise as
    `read_text_lines`.
    """
    if _opening(path).startswith(("[{", "[[")):
        yield from _array_items(path, "\n".join(text for _, text in read_text_lines(path)))
        return
    for line, text in read_text_lines(path):
        if text.strip():
            yield line, text


def _opening(path: Path) -> str:
    """The first three characters of a file that are not white space."""
    characters = (char for _, text in read_text_lines(path) for char in text if not char.isspace())
    return "".join(islice(characters, 3))


def _array_items(path: Path, text: str) -> Iterator[tuple[int, str]]:
    decoder = json.JSONDecoder()
    line = 1
    last = 0  # where `line` was counted
    place = text.index("[")
    while text[place] != "]":
        place = _skip(text, place + 1)
        line += text.count("\n", last, place)
        last = place
        try:
            _, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as problem:
            raise _array_fault(path, text, place, problem.msg) from None
        except RecursionError:
            raise _array_fault(path, text, place, "it is nested too deeply") from None
        yield line, text[place:end]
        place = _skip(text, end)
        if text[place : place + 1] not in (",", "]"):
            raise _array_fault(path, text, place, "Expecting ',' or ']'")
    place = _skip(text, place + 1)
    if place < len(text):
        raise _array_fault(path, text, place, "it has ended, but the file goes on")


def _array_fault(path: Path, text: str, place: int, problem: str) -> ValueError:
    line = 1 + text.count("\n", 0, place)
    return ValueError(Errors.F119.format(path=path, line=line, problem=problem))


def _skip(text: str, place: int) -> int:
    """The place of the next character that is not white space."""
    space = _SPACE.match(text, place)
    return space.end() if space else place


# What a record says


def load(raw: str) -> Any:
    """The JSON of a record. Raises ValueError that says what is wrong."""
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def check_characters(text: str, mentions: Iterable[Mention]) -> None:
    """Raises ValueError that says what is wrong where the text or a type has a surrogate, which
    JSON can escape but UTF-8 can't hold."""
    for part in (text, *(mention.label for mention in mentions)):
        try:
            part.encode("utf-8")
        except UnicodeEncodeError as error:
            code = f"U+{ord(part[error.start]):04X}"
            raise ValueError(f"it has {code}, a surrogate without its other half") from None


def parse_cluener(record: Any) -> tuple[str, list[Mention]]:
    """Return the text and the entities of CLUENER's object.

    Raises ValueError that says what is wrong with the layout.
    """
    text = _text(record)
    labels = record.get("label")
    if not isinstance(labels, dict):
        raise ValueError('it has no "label" object')
    return text, list(_mentions(labels))


def parse_doccano(record: Any) -> tuple[str, list[Mention]]:
    """Return the text and the entities of doccano's object.

    Raises ValueError that says what is wrong with the layout.
    """
    text = _text(record)
    entities = next((record[key] for key in DOCCANO_KEYS if key in record), None)
    if not isinstance(entities, list):
        raise ValueError('it has no list "label", "labels" or "entities"')
    return text, [_mention(entity) for entity in entities]


def _text(record: Any) -> str:
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    text = record.get("text")
    if not isinstance(text, str) or not text:
        raise ValueError('it has no "text"')
    return text


def _mentions(labels: dict[str, Any]) -> Iterator[Mention]:
    for label, surfaces in labels.items():
        if not label or not isinstance(surfaces, dict):
            raise ValueError(f"label {label!r} has no object of surfaces")
        for surface, spans in surfaces.items():
            if not isinstance(spans, list):
                raise ValueError(f"surface {surface!r} has no list of offsets")
            for span in spans:
                if not isinstance(span, list) or [type(offset) for offset in span] != [int, int]:
                    raise ValueError(f"{span!r} is no pair of offsets")
                start, last = span
                yield Mention(label, start, last + 1, str(span), surface)


def parse_pair(record: Any) -> tuple[str, list[Mention]]:
    """Return the text and the entities of a pair as spaCy's `Example.from_dict` takes it.

    Raises ValueError that says what is wrong with the layout.
    """
    if not isinstance(record, list) or len(record) != 2:
        raise ValueError("it is no array of two")
    text, annotation = record
    if not isinstance(text, str) or not text:
        raise ValueError("its first part is no text")
    if not isinstance(annotation, dict) or not isinstance(annotation.get("entities"), list):
        raise ValueError('its second part has no list of "entities"')
    return text, [_mention(entity) for entity in annotation["entities"]]


def _mention(entity: Any) -> Mention:
    if not isinstance(entity, list) or [type(part) for part in entity] != [int, int, str]:
        raise ValueError(f"{entity!r} is no [start, end, TYPE]")
    start, end, label = entity
    if not label:
        raise ValueError(f"{entity!r} has no type")
    return Mention(label, start, end, str(entity[:2]))


PARSERS: dict[Layout, Callable[[Any], tuple[str, list[Mention]]]] = {
    "cluener": parse_cluener,
    "doccano": parse_doccano,
    "spacy": parse_pair,
}
