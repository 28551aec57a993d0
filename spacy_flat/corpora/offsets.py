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

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import Errors
from ..text.units import EntitySpan
from .records import (
    check_characters,
    first_record,
    has_objects,
    opening,
    parsed_records,
    read_records,
)
from .repairs import AnnotatedUnits, Repairs

Layout = Literal["cluener", "doccano", "label-studio", "prodigy", "spacy"]

LAYOUT = (
    'a record of CLUENER, doccano, Label Studio, Prodigy or spaCy ({"text": …} with "label", '
    '"labels", "entities", "spans" or "ents"; {"data": …, "annotations": …}; or '
    '[text, {"entities": [[start, end, TYPE]]}])'
)
TYPES = {"labels", "hypertextlabels"}  # of a region of text in Label Studio
ENTITIES = ("label", "labels", "entities", "spans", "ents")  # their name, by tool and version


class Mention(NamedTuple):
    """An entity as a record names it: characters [start, end), and how the file writes them.

    surface: its text, if the record has it.
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

    def __iter__(self) -> Iterator[AnnotatedUnits]:
        """Yield the sentences. Raises ValueError (F004, F107 to F109, F119, F156)."""
        for line, (text, mentions) in parsed_records(self.path, self.repairs, parse, LAYOUT):
            entities = [
                EntitySpan(mention.start, mention.end, mention.label)
                for mention in mentions
                if self._is_in_text(line, text, mention)
            ]
            if not text:
                self.repairs.n_skipped += 1
                continue
            yield AnnotatedUnits(list(text), self._without_overlap(line, text, entities), line)

    def _is_in_text(self, line: int, text: str, mention: Mention) -> bool:
        label, start, end, offsets, surface = mention
        where = {"path": self.path, "line": line, "label": label, "offsets": offsets}
        if not 0 <= start < end <= len(text):
            error = Errors.F107.format(**where, length=len(text))
            return self.repairs.count("entity outside the text dropped", error, label=True)
        found = text[start:end]
        if surface is not None and found != surface:
            error = Errors.F108.format(**where, surface=surface, found=found)
            return self.repairs.count("entity with another surface dropped", error, label=True)
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
            self.repairs.count("overlapping entity dropped", error, label=True)
        return kept


def _longest_first(entity: EntitySpan) -> tuple[int, int]:
    return entity.start - entity.end, entity.start


# Records of a file


def detect_layout(path: Path) -> Layout | None:
    """Tell the layout of a file by its first record; None where it is not JSON, or has no text."""
    if opening(path).startswith(('["', '[["')):
        return "spacy"
    if not has_objects(path):
        return None
    record = first_record(path)
    if record is None:
        return (
            "cluener" if any('"text"' in raw for _, raw in islice(read_records(path), 1)) else None
        )
    if {"data", "annotations"} <= record.keys():
        return "label-studio"
    if "text" not in record:
        return None
    if isinstance(record.get("label"), dict):
        return "cluener"
    if "annotation_id" in record:
        return "label-studio"
    return "prodigy" if "spans" in record else "doccano"


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
        named = [x for each in lists for x in each if isinstance(x, dict) and x.keys() & TYPES]
        found.insert(0, named)
    elif "annotator" in record and not any(key in record for key in ENTITIES):
        return "", []  # a task that nobody has annotated yet
    entities: Any = next(filter(None, found), [] if found or not text else None)
    if entities is None:
        raise ValueError("it has no list or object of entities")
    if isinstance(entities, dict):
        mentions = list(_by_surface(entities))
    else:
        mentions = [mention for entity in entities for mention in _of_types(entity)]
    check_characters(text, *(mention.label for mention in mentions))
    return text, mentions


def _task(task: dict[str, Any]) -> dict[str, Any]:
    """Text and entities of a task of Label Studio: those of the annotation that is marked as ground
    truth, or of the first one that was not skipped."""
    try:
        done = [each for each in task["annotations"] if not each.get("was_cancelled")]
        if not done:
            return {"text": "", "spans": []}
        chosen = max(done, key=lambda annotation: bool(annotation.get("ground_truth")))
        results = [result for result in chosen["result"] if "value" in result]
        unknown = {str(result.get("type")) for result in results} - TYPES
        spans = [result["value"] for result in results if result["value"].keys() & TYPES]
        text = task["data"].get("text")
    except (AttributeError, KeyError, TypeError):
        raise ValueError('its "data" and "annotations" are not as Label Studio has them') from None
    for kind in sorted(unknown):
        if kind.endswith("labels"):  # unlike "choices", which say nothing of entities
            raise ValueError(f"it has regions of the type {kind!r}, not of text")
    return {"text": text, "spans": spans}


def _by_surface(labels: dict[str, Any]) -> Iterator[Mention]:
    for label, surfaces in labels.items():
        if not label.strip() or not isinstance(surfaces, dict):
            raise ValueError(f"label {label!r} has no object of surfaces")
        for surface, spans in surfaces.items():
            if not isinstance(spans, list):
                raise ValueError(f"surface {surface!r} has no list of offsets")
            for span in spans:
                if not isinstance(span, list) or [type(offset) for offset in span] != [int, int]:
                    raise ValueError(f"{span!r} is not a pair of offsets")
                start, last = span
                yield Mention(label.strip(), start, last + 1, str(span), surface)


def _of_types(entity: Any) -> list[Mention]:
    """An entity in an array or an object, once with each of its types."""
    if isinstance(entity, list) and len(entity) == 3:
        entity = dict(zip(("start", "end", "label"), entity, strict=True))
    if not isinstance(entity, dict):
        raise ValueError(f"{entity!r} is neither [start, end, type] nor an object")
    fields = _plain(entity)
    start, end = (fields.get(key, fields.get(f"{key}_offset")) for key in ("start", "end"))
    labels = fields.get("labels", [fields.get("label")])
    if start is None or end is None:
        raise ValueError(f"{entity!r} lacks a start or an end")
    if type(start) is not int or type(end) is not int:
        raise ValueError(f"start and end of {entity!r} are not whole numbers")
    if not isinstance(labels, list) or not all(isinstance(x, str) and x.strip() for x in labels):
        raise ValueError(f"{entity!r} lacks a type, or it is not a string")
    surface, offsets = fields.get("text"), str([start, end])
    return [Mention(label.strip(), start, end, offsets, surface) for label in labels]


def _plain(region: dict[str, Any]) -> dict[str, Any]:
    """A region of Label Studio's HyperText like one of its Text: its start and end are XPaths."""
    if "hypertextlabels" not in region:
        return region
    offsets = region.get("globalOffsets")
    if not isinstance(offsets, dict):
        raise ValueError(f"{region!r} has no globalOffsets")
    places = {key: offsets.get(key) for key in ("start", "end")}
    return {**region, **places, "labels": region["hypertextlabels"]}
