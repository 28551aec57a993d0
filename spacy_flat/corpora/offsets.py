"""JSON with entities as character offsets, one record a line or all of them in one array.

CLUENER's records have, by type and surface, inclusive offsets (CLUENER2020, Xu et al. 2020,
arXiv:2001.04351; also the layout of `assets/demo`):

    {"text": "温格战胜曼联", "label": {"name": {"温格": [[0, 1]]}, "team": {"曼联": [[4, 5]]}}}

All others have exclusive ends. Those of annotation tools have a list of entities, each an array or
an object: doccano's, Prodigy's, and Label Studio's JSON-MIN.

    {"text": "温格战胜曼联", "label": [[0, 2, "name"], [4, 6, "team"]]}
    {"text": "温格战胜曼联", "spans": [{"start": 0, "end": 2, "label": "name"}], "answer": "accept"}

Label Studio's JSON has the text in "data", and the entities of each annotator in "annotations".

Pairs are the training data of spaCy's `Example.from_dict`:

    ["温格战胜曼联", {"entities": [[0, 2, "name"], [4, 6, "team"]]}]
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import Errors
from ..text.units import EntitySpan
from ..util.files import read_text_lines
from .sentence import Repairs, Sentence

Layout = Literal["cluener", "doccano", "label-studio", "prodigy", "spacy"]

LAYOUT = (
    'a record of CLUENER, doccano, Label Studio, Prodigy or spaCy ({"text": …} with "label", '
    '"labels", "entities", "spans" or "ents"; {"data": …, "annotations": …}; or '
    '[text, {"entities": [[start, end, TYPE]]}])'
)
ENTITIES = ("label", "labels", "entities", "spans", "ents")  # their name, by tool and version

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
    """Reads one file of records of any layout. Units are the characters of the text."""

    path: Path
    repairs: Repairs

    def __iter__(self) -> Iterator[Sentence]:
        """Yield the sentences. Raises ValueError (F004, F156 to F109, F119)."""
        for line, raw in read_records(self.path):
            self.repairs.n_lines += 1
            try:
                text, mentions = parse(load(raw))
                check_characters(text, mentions)
            except ValueError as problem:
                error = Errors.F156.format(
                    path=self.path, line=line, layout=LAYOUT, problem=problem
                )
                self.repairs.count_line("malformed line dropped", error)
                continue
            entities = [
                EntitySpan(mention.start, mention.end, mention.label)
                for mention in mentions
                if self._is_in_text(line, text, mention)
            ]
            if not text:
                self.repairs.n_skipped += 1
                continue
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
    """Tell the layout of a file by its first record; None where it is not JSON, or has no text."""
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
    if {"data", "annotations"} <= record.keys():
        return "label-studio"
    if "text" not in record:
        return None
    if isinstance(record.get("label"), dict):
        return "cluener"
    if "annotation_id" in record:
        return "label-studio"
    return "prodigy" if "spans" in record else "doccano"


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
        raise ValueError(f"it is not JSON ({error})") from None
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


def parse(record: Any) -> tuple[str, list[Mention]]:
    """Return the text and the entities of a record; no text where the record says nothing, since
    an annotator skipped it, rejected it, or has not seen it.

    Raises ValueError that says what is wrong with the layout.
    """
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        record = {"text": record[0], "entities": record[1].get("entities")}
    if not isinstance(record, dict):
        raise ValueError("it is neither an object nor a pair of a text and an object")
    if {"data", "annotations"} <= record.keys():
        record = _task(record)
    text = record.get("text")
    if not isinstance(text, str):
        raise ValueError('it has no "text"')
    if record.get("answer") in ("reject", "ignore"):
        return "", []
    found = [record[key] for key in ENTITIES if isinstance(record.get(key), list | dict)]
    if "annotation_id" in record:
        # Label Studio's JSON-MIN names a list as its tag is named, and leaves out an empty one.
        lists = [value for value in record.values() if isinstance(value, list)]
        named = [x for each in lists for x in each if isinstance(x, dict) and "labels" in x]
        found.insert(0, named)
    entities: Any = next(filter(None, found), [] if found or not text else None)
    if entities is None:
        raise ValueError("it has no list or object of entities")
    if isinstance(entities, dict):
        return text, list(_by_surface(entities))
    return text, [mention for entity in entities for mention in _of_types(entity)]


def _task(task: dict[str, Any]) -> dict[str, Any]:
    """Text and entities of a task of Label Studio: those of the annotation that is marked as ground
    truth, or of the first one that was not skipped."""
    try:
        done = [each for each in task["annotations"] if not each.get("was_cancelled")]
        if not done:
            return {"text": "", "spans": []}
        chosen = max(done, key=lambda annotation: bool(annotation.get("ground_truth")))
        values = [result["value"] for result in chosen["result"] if "value" in result]
        spans = [value for value in values if "labels" in value]
        return {"text": task["data"].get("text"), "spans": spans}
    except (AttributeError, KeyError, TypeError):
        raise ValueError('its "data" and "annotations" are not as Label Studio has them') from None


def _by_surface(labels: dict[str, Any]) -> Iterator[Mention]:
    for label, surfaces in labels.items():
        if not label or not isinstance(surfaces, dict):
            raise ValueError(f"label {label!r} has no object of surfaces")
        for surface, spans in surfaces.items():
            if not isinstance(spans, list):
                raise ValueError(f"surface {surface!r} has no list of offsets")
            for span in spans:
                if not isinstance(span, list) or [type(offset) for offset in span] != [int, int]:
                    raise ValueError(f"{span!r} is not a pair of offsets")
                start, last = span
                yield Mention(label, start, last + 1, str(span), surface)


def _of_types(entity: Any) -> list[Mention]:
    """An entity in an array or an object, once with each of its types."""
    if isinstance(entity, list) and len(entity) == 3:
        entity = dict(zip(("start", "end", "label"), entity, strict=True))
    fields: dict[str, Any] = entity if isinstance(entity, dict) else {}
    start, end = (fields.get(key, fields.get(f"{key}_offset")) for key in ("start", "end"))
    labels = fields.get("labels", [fields.get("label")])
    has_types = isinstance(labels, list) and all(isinstance(x, str) and x for x in labels)
    if not has_types or type(start) is not int or type(end) is not int:
        raise ValueError(f"{entity!r} lacks a start, an end or a type")
    return [Mention(label, start, end, str([start, end]), fields.get("text")) for label in labels]
