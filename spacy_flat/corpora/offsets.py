"""JSON with entities as character offsets, one record per line or all of them in one array.

CLUENER's records have inclusive offsets by type and surface (CLUENER2020, Xu et al. 2020,
arXiv:2001.04351; also the layout of `assets/demo`). All others have exclusive ends: annotation
tools write a list of entities, each an array or an object; Label Studio has the text in "data" and
the entities of each annotator in "annotations"; spaCy's `Example.from_dict` takes pairs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors
from ..text.units import EntitySpan
from .columns import Sentence
from .formats import Repairs
from .records import Line, check_characters, parsed_records

# The layouts of records, each with an example.
EXAMPLES = {
    "cluener": '{"text": "王芳去北京", "label": {"PER": {"王芳": [[0, 1]]}}}',
    "doccano": '{"text": "王芳去北京", "label": [[0, 2, "PER"]]}',
    "label-studio": '{"data": {"text": "王芳去北京"}, "annotations": [{"result": [{"value": '
    '{"start": 0, "end": 2, "labels": ["PER"]}}]}]}',
    "prodigy": '{"text": "王芳去北京", "spans": [{"start": 0, "end": 2, "label": "PER"}]}',
    "spacy": '["王芳去北京", {"entities": [[0, 2, "PER"]]}]',
}
LAYOUT = (
    'a record of CLUENER, doccano, Label Studio, Prodigy or spaCy ({"text": …} with "label", '
    '"labels", "entities", "spans" or "ents"; {"data": …, "annotations": …}; or '
    '[text, {"entities": [[start, end, TYPE]]}])'
)
TYPES = {"labels", "hypertextlabels"}  # of a text region in Label Studio
_ENDS = ("start", "end")
ENTITIES = ("label", "labels", "entities", "spans", "ents")  # their name, by tool and version


class Mention(NamedTuple):
    """An entity as in a record: characters [start, end), and the offsets as the file has them.

    surface: its text, if the record has it.
    """

    label: str
    start: int
    end: int
    offsets: str
    surface: str | None = None

    def fits(self, text: str) -> bool:
        """Whether it is in the text, and its surface is there. The offsets count: a surface may
        differ in white space and normalisation, as in exports of Label Studio."""
        if not 0 <= self.start < self.end <= len(text):
            return False
        found = text[self.start : self.end]
        return self.surface in (None, found) or _folded(self.surface or "") == _folded(found)


def read_offsets(path: Path, repairs: Repairs) -> Iterator[Sentence]:
    """Yield the sentences of records of any layout. Units are the characters of the text.

    Raises ValueError (F107 to F109, F119, F156).
    """
    for line, (text, mentions) in parsed_records(path, parse, LAYOUT):
        if not text:
            repairs.n_skipped += 1
            continue
        places, unknown = _placed(path, line, text, mentions, repairs)
        entities, overlapping = _without_overlap(path, line, text, places, repairs)
        yield Sentence(list(text), entities, line, [*unknown, *overlapping])


def _placed(
    path: Path, line: Line, text: str, mentions: Sequence[Mention], repairs: Repairs
) -> tuple[list[EntitySpan], list[int]]:
    """The entities, and unknown characters: where an entity may be that can't be placed.

    Repairs look for the surface first. Raises ValueError (F107, F108) unless they are enabled.
    """
    kind = ""
    if not all(mention.fits(text) for mention in mentions):
        kind, mentions = _by_kind(text, mentions)
    entities: list[EntitySpan] = []
    unknown: list[int] = []
    for mention in mentions:
        label, start, end, shown, surface = mention
        fits = mention.fits(text)
        if kind or not fits:
            words = {"path": path, "line": line, "label": label, "offsets": shown}
            if surface is None or not (kind or 0 <= start < end <= len(text)):
                error = Errors.F107.format(**words, length=len(text), kind=kind)
            else:
                problem = kind or f" The text there is {text[start:end]!r}."
                error = Errors.F108.format(**words, surface=surface, problem=problem)
            repairs.count("entity moved" if fits else "entity looked for", error)
        if fits:
            entities.append(EntitySpan(start, end, label))
            continue
        found = _occurrences(text, surface) if surface else []
        if len(found) == 1:
            entities.append(EntitySpan(*found[0], label))
        else:
            for first, last in found or [(0, len(text))]:
                unknown += range(first, last)
    return entities, unknown


def _by_kind(text: str, mentions: Sequence[Mention]) -> tuple[str, Sequence[Mention]]:
    """Recognise offsets of another kind, if all of a record fit it. Returns its description and the
    mentions with offsets in characters."""
    in_utf16 = list(accumulate((1 + (char > "\uffff") for char in text), initial=0))
    places = {unit: at for at, unit in enumerate(in_utf16)}
    has_surfaces = all(mention.surface for mention in mentions)

    def shifted(by_start: int, by_end: int) -> Callable[[Mention], tuple[int, int]]:
        return lambda mention: (mention.start + by_start, mention.end + by_end)

    kinds = {
        " The offsets count UTF-16 code units, as in JavaScript.": (
            lambda mention: (places.get(mention.start, -1), places.get(mention.end, -1))
        ),
        " All offsets of the record are one too high.": shifted(-1, -1),
        " All offsets of the record are one too low.": shifted(1, 1),
        " All ends of the record are one too low.": shifted(0, 1),
        " All ends of the record are one too high.": shifted(0, -1),
    }
    for number, (kind, convert) in enumerate(kinds.items()):
        if has_surfaces or (number == 0 and len(places) <= in_utf16[-1]):
            moved = [
                mention._replace(start=start, end=end)
                for mention in mentions
                for start, end in [convert(mention)]
            ]
            if all(mention.fits(text) for mention in moved):
                return kind, moved
    return "", mentions


def _occurrences(text: str, surface: str) -> list[tuple[int, int]]:
    found = []
    at = text.find(surface)
    while at >= 0:
        found.append((at, at + len(surface)))
        at = text.find(surface, at + 1)
    return found


def _folded(text: str) -> str:
    """A text without white space, also as "\\n" in HyperText of Label Studio, normalised."""
    return "".join(unicodedata.normalize("NFKC", text.replace("\\n", "")).split())


def _without_overlap(
    path: Path, line: Line, text: str, entities: list[EntitySpan], repairs: Repairs
) -> tuple[list[EntitySpan], list[int]]:
    """The longer of two overlapping entities, the first of two equally long ones; and the
    characters of the others. Raises ValueError (F109) unless repairs are enabled."""
    kept: list[EntitySpan] = []
    unknown: list[int] = []
    taken: dict[int, EntitySpan] = {}
    for entity in sorted(entities, key=lambda each: (each.start - each.end, each.start)):
        places = range(entity.start, entity.end)
        # No kept one is shorter, so that each overlapping one has one of the ends.
        other = taken.get(entity.start) or taken.get(entity.end - 1)
        if other is None:
            kept.append(entity)
            taken.update(dict.fromkeys(places, entity))
            continue
        error = Errors.F109.format(
            path=path,
            line=line,
            label=entity.label,
            surface=text[entity.start : entity.end],
            other_label=other.label,
            other_surface=text[other.start : other.end],
        )
        repairs.count("overlapping entity dropped", error)
        unknown += places
    return sorted(kept), unknown


# Records of a file


def layout_of(record: Any) -> str:
    """The layout of a record. Raises ValueError as `parse`."""
    parse(record)
    if isinstance(record, list):
        return "spacy"
    if {"data", "annotations"} <= record.keys() or "annotator" in record:
        return "label-studio"
    if isinstance(record.get("label"), dict):
        return "cluener"
    return "prodigy" if record.keys() & {"spans", "answer"} else "doccano"


def parse(record: Any) -> tuple[str, list[Mention]]:
    """The text and the entities of a record; no text if the record says nothing, since an
    annotator skipped it, rejected it, or has not seen it.

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
    if not all(mention.label for mention in mentions):
        raise ValueError("an entity has no type")
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
        kinds = {str(result.get("type")) for result in results} - TYPES
        spans = [result["value"] for result in results if result["value"].keys() & TYPES]
        text = task["data"].get("text")
    except (AttributeError, KeyError, TypeError):
        raise ValueError('its "data" and "annotations" are not as Label Studio has them') from None
    # Others such as "choices" say nothing of entities.
    if unknown := sorted(kind for kind in kinds if kind.endswith("labels")):
        raise ValueError(f"it has regions of the type {unknown[0]!r}, not of text")
    return {"text": text, "spans": spans}


def _by_surface(labels: dict[str, Any]) -> Iterator[Mention]:
    for label, surfaces in labels.items():
        try:
            for surface, spans in surfaces.items():
                for start, last in spans:
                    shown = f"[{start}, {last}]"
                    yield Mention(label.strip(), index(start), index(last) + 1, shown, surface)
        except (AttributeError, TypeError, ValueError):
            problem = f"{surfaces!r} is not an object of surfaces and lists of offsets"
            raise ValueError(problem) from None


def _of_types(entity: Any) -> list[Mention]:
    """An entity in an array or an object, once with each of its types."""
    fields = entity
    try:
        if isinstance(entity, list):
            fields = dict(zip(("start", "end", "label"), entity, strict=True))
        fields = {**fields, **fields.get("globalOffsets", {})}  # in Label Studio's HyperText
        places: list[Any] = [fields.get(key, fields.get(f"{key}_offset")) for key in _ENDS]
        start, end = map(index, places)
        labels = fields.get("labels", fields.get("hypertextlabels", [fields.get("label")]))
        surface = fields.get("text") if isinstance(fields.get("text"), str) else None
        shown = str([start, end])
        return [Mention(label.strip(), start, end, shown, surface) for label in labels]
    except (AttributeError, TypeError, ValueError):
        problem = f"{entity!r} is neither [start, end, type] nor an object with these"
        raise ValueError(problem) from None
