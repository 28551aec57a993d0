"""JSON with entities as character offsets, one record per line or all of them in one array.

CLUENER's records have inclusive offsets by type and surface (CLUENER2020, Xu et al. 2020,
arXiv:2001.04351; also the layout of `assets/demo`). All others have exclusive ends: annotation
tools write a list of entities, each an array or an object; Label Studio has the text in "data" and
the entities of each annotator in "annotations"; spaCy's `Example.from_dict` takes pairs.
"""

import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from spacy.util import filter_spans

from ..errors import Errors, Warnings
from ..text.units import EntitySpan
from .columns import Sentence
from .formats import Summary
from .records import Line, parsed_records

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
ENTITIES = ("label", "labels", "entities", "spans", "ents")  # their name, by tool and version

# What is wrong with all offsets of a record, by what corrects their starts and ends.
SHIFTS = {
    (-1, -1): " All offsets of the record are one too high.",
    (1, 1): " All offsets of the record are one too low.",
    (0, 1): " All ends of the record are one too low.",
    (0, -1): " All ends of the record are one too high.",
}
PAUSES = frozenset("，。！？、；：,;!?")
# The share of entities with an unlikely start or end is below 0.5 % in published corpora; with all
# offsets shifted by one it is above 10 % (1 % in the worst case, ends that are one too low).
MAX_UNLIKELY = 0.03


class Mention(NamedTuple):
    """An entity as in a record: characters [start, end), and its text, if the record has it."""

    label: str
    start: int
    end: int
    surface: str | None = None

    def fits(self, text: str) -> bool:
        """Whether it is in the text, and its surface is there. The offsets count: a surface may
        differ in white space and normalisation, as in exports of Label Studio."""
        if not 0 <= self.start < self.end <= len(text):
            return False
        return self.surface is None or _folded(self.surface) == _folded(text[self.start : self.end])


def read_offsets(path: Path, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of records of any layout. Units are the characters of the text.

    Raises ValueError (F107 to F109, F119, F156). Warns (W162) if offsets seem to be shifted.
    """
    n = 0
    unlikely: list[tuple[Line, str]] = []
    for line, (text, mentions) in parsed_records(path, parse, LAYOUT):
        if not text:
            summary.skipped += 1
            continue
        where = {"path": path, "line": line}
        found, unknown = _placed(text, mentions, where, summary)
        entities = _longest(text, found, where, summary)
        for dropped in {*found}.difference(entities):
            unknown += range(dropped.start, dropped.end)
        n += len(entities)
        unlikely += [(line, text[e.start : e.end]) for e in entities if is_unlikely(text, e)]
        yield Sentence(list(text), entities, unknown)
    if len(unlikely) > max(2, MAX_UNLIKELY * n):
        line, surface = unlikely[0]
        words = {"n": len(unlikely), "total": n, "line": line, "surface": surface}
        warnings.warn(Warnings.W162.format(path=path, **words), stacklevel=2)


def is_unlikely(text: str, entity: EntitySpan) -> bool:
    """Whether an entity begins or ends with a pause, or within a word in Latin letters."""
    start, end, _ = entity
    cuts = (text[at - 1 : at + 1] for at in (start, end) if at)
    within_word = any(len(pair) == 2 and pair.isascii() and pair.isalpha() for pair in cuts)
    return within_word or not PAUSES.isdisjoint(text[start] + text[end - 1])


def _placed(
    text: str, mentions: Sequence[Mention], where: dict[str, Path | Line], summary: Summary
) -> tuple[list[EntitySpan], list[int]]:
    """The entities, and unknown characters: all, if an entity can't be placed. Raises ValueError
    (F107, F108) for wrong offsets unless repairs are enabled."""
    kind, moved = "", mentions
    if not all(mention.fits(text) for mention in mentions):
        kind, moved = _by_kind(text, mentions)
    entities: list[EntitySpan] = []
    unknown: list[int] = []
    for given, mention in zip(mentions, moved, strict=True):
        label, start, end, surface = mention
        fits = mention.fits(text)
        if kind or not fits:
            words = {**where, "label": label, "offsets": f"[{given.start}, {given.end})"}
            if surface is None or not (kind or 0 <= start < end <= len(text)):
                error = Errors.F107.format(**words, length=len(text), kind=kind)
            else:
                problem = kind or f" The text there is {text[start:end]!r}."
                error = Errors.F108.format(**words, surface=surface, problem=problem)
            summary.count_repair("entity moved" if fits else "text not annotated", error)
        if fits:
            entities.append(EntitySpan(start, end, label))
        else:
            unknown = [*range(len(text))]
    return entities, unknown


def _by_kind(text: str, mentions: Sequence[Mention]) -> tuple[str, Sequence[Mention]]:
    """Recognise offsets of another kind, if all of a record fit it: its description, and the
    mentions with offsets in characters."""
    in_utf16 = accumulate((1 + (char > "\uffff") for char in text), initial=0)
    at = {unit: place for place, unit in enumerate(in_utf16)}
    in_characters = [m._replace(start=at.get(m.start, -1), end=at.get(m.end, -1)) for m in mentions]
    kinds = {" The offsets count UTF-16 code units, as in JavaScript.": in_characters}
    if all(mention.surface for mention in mentions):
        for (left, right), kind in SHIFTS.items():
            kinds[kind] = [m._replace(start=m.start + left, end=m.end + right) for m in mentions]
    fitting = (kind for kind, moved in kinds.items() if all(m.fits(text) for m in moved))
    kind = next(fitting, "")
    return kind, kinds.get(kind, mentions)


def _folded(text: str) -> str:
    """A text without white space, also as "\\n" in HyperText of Label Studio, normalised."""
    return "".join(unicodedata.normalize("NFKC", text.replace("\\n", "")).split())


def _longest(
    text: str, entities: list[EntitySpan], where: dict[str, Path | Line], summary: Summary
) -> list[EntitySpan]:
    """The longer of two overlapping entities, the first of two equally long ones. Raises ValueError
    (F109) unless repairs are enabled."""
    kept: list[EntitySpan] = filter_spans(entities)  # type: ignore[arg-type, assignment]
    for start, end, label in (Counter(entities) - Counter(kept)).elements():
        other = next(each for each in kept if each.start < end and start < each.end)
        words = {"label": label, "surface": text[start:end], "other_label": other.label}
        words["other_surface"] = text[other.start : other.end]
        error = Errors.F109.format(**where, **words)
        summary.count_repair("overlapping entity dropped", error)
    return kept


# Records of a file


def layout_of(record: Any) -> str:
    """The layout of a record. Raises ValueError as `parse`."""
    parse(record)
    if isinstance(record, list):
        return "spacy"
    if {"data", "annotations"} <= record.keys():
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
    if text and not found:
        raise ValueError("it has no list or object of entities")
    entities: Any = next(filter(None, found), [])
    if isinstance(entities, dict):
        entities = list(_by_surface(entities))
    mentions = [mention for entity in entities for mention in _of_types(entity)]
    if not all(mention.label for mention in mentions):
        raise ValueError("an entity has no type")
    f"{text}{mentions}".encode()  # raises for a surrogate, which JSON can escape
    return text, mentions


def _task(task: dict[str, Any]) -> dict[str, Any]:
    """Text and entities of a task of Label Studio: those of the annotation that is marked as ground
    truth, or of the first one that was not skipped."""
    try:
        done = [each for each in task["annotations"] if not each.get("was_cancelled")]
        if not done:
            return {"text": "", "spans": []}
        chosen = max(done, key=lambda annotation: bool(annotation.get("ground_truth")))
        values = [result["value"] for result in chosen["result"] if "value" in result]
        spans = [value for value in values if value.keys() & TYPES]
        return {"text": task["data"].get("text"), "spans": spans}
    except (AttributeError, KeyError, TypeError):
        raise ValueError('its "data" and "annotations" are not as Label Studio has them') from None


def _by_surface(labels: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """CLUENER's entities as objects."""
    for label, surfaces in labels.items():
        try:
            for surface, spans in surfaces.items():
                for start, last in spans:
                    yield {"start": start, "end": last + 1, "label": label, "text": surface}
        except (AttributeError, TypeError, ValueError):
            problem = f"{surfaces!r} is not an object of surfaces and lists of offsets"
            raise ValueError(problem) from None


def _of_types(entity: Any) -> list[Mention]:
    """An entity in an array or an object, once with each of its types."""
    try:
        if isinstance(entity, list):
            entity = dict(zip(("start", "end", "label"), entity, strict=True))
        fields: dict[str, Any] = {**entity, **entity.get("globalOffsets", {})}  # of HyperText
        places: list[Any] = [fields.get(at, fields.get(f"{at}_offset")) for at in ("start", "end")]
        start, end = map(index, places)
        labels = fields.get("labels", fields.get("hypertextlabels", [fields.get("label")]))
        surface = fields.get("text") if isinstance(fields.get("text"), str) else None
        return [Mention(label.strip(), start, end, surface) for label in labels]
    except (AttributeError, TypeError, ValueError):
        problem = f"{entity!r} is neither [start, end, type] nor an object with these"
        raise ValueError(problem) from None
