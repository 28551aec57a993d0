"""JSON with entities as character offsets, one record per line or all of them in one array.

CLUENER's records have inclusive offsets by type and surface (CLUENER2020, Xu et al. 2020,
arXiv:2001.04351; also the layout of `assets/demo`). All others have exclusive ends: annotation
tools write a list of entities, each an array or an object; Label Studio has the text in "data" and
the entities of each annotator in "annotations"; spaCy's `Example.from_dict` takes pairs. What tools
write differs: all records of a file together say how its offsets count.
"""

import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, compress
from operator import index, ne
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.lang.zh import try_jieba_import
from spacy.util import filter_spans

from ..errors import Errors, Warnings
from ..lexicon.snapshot import cuts_of
from ..text import jieba as _quiet  # noqa: F401
from ..text.units import EntitySpan
from ..util.arrays import Bools
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

UNITS: dict[str, Callable[[str], int]] = {  # how many of them a character has
    "characters": lambda char: 1,
    "UTF-16 code units": lambda char: 1 + (char > "\uffff"),  # as in JavaScript
    "bytes of UTF-8": lambda char: len(char.encode()),
}
PAUSES = frozenset("，。！？、；：,;!?")

# How strongly an entity contradicts a way of counting.
UNLIKELY, IMPOSSIBLE = 1, 3
# The share of unlikely entities is at most 24 % in published corpora, and at least 63 % if their
# ends are one too high or too low.
MAX_UNLIKELY = 0.4


class Mention(NamedTuple):
    """An entity as in a record: characters [start, end) if its offsets are as the layout says, and
    its text, if the record has it.

    inclusive: the layout has the last character instead of the end.
    """

    label: str
    start: int
    end: int
    surface: str | None = None
    inclusive: bool = False


class Reading(NamedTuple):
    """A way to count offsets."""

    unit: str
    inclusive: bool

    def __str__(self) -> str:
        return f"{self.unit} with {'in' if self.inclusive else 'ex'}clusive ends"


@dataclass(frozen=True)
class Record:
    """A record of a file."""

    line: Line
    text: str
    mentions: Sequence[Mention]

    def placed(self, way: Reading) -> list[Mention]:
        """The mentions with offsets in characters, -1 where no character starts."""
        starts = accumulate(map(UNITS[way.unit], self.text), initial=0)
        at = {unit: place for place, unit in enumerate(starts)}
        ends = [each.end + way.inclusive - each.inclusive for each in self.mentions]
        return [
            each._replace(start=at.get(each.start, -1), end=at.get(end, -1))
            for each, end in zip(self.mentions, ends, strict=True)
        ]

    def at(self, mention: Mention) -> str:
        """The text at offsets in characters; empty if there is none."""
        return self.text[mention.start : mention.end] if min(mention[1:3]) >= 0 else ""

    def doubt(self, mention: Mention) -> int:
        """How implausible a placed mention is. Its surface may differ from the text in white space
        and normalisation, as in exports of Label Studio."""
        _, start, end, surface, _ = mention
        if not (found := self.at(mention)):
            return IMPOSSIBLE
        if surface is not None:
            return 0 if _folded(surface) == _folded(found) else IMPOSSIBLE
        is_cut = self._cuts[start] or self._cuts[end]
        return UNLIKELY if is_cut or _separates(found[0]) or _separates(found[-1]) else 0

    @cached_property
    def _cuts(self) -> Bools:
        """[characters + 1] the places within words, those of jieba for Chinese, and numbers."""
        words = try_jieba_import().cut(self.text)  # type: ignore[no-untyped-call]
        cuts = np.ones(len(self.text) + 1, np.bool_)
        cuts[[*accumulate(map(len, words), initial=0)]] = False
        runs = cuts_of(self.text)
        return cuts if runs is None else cuts | runs


def _separates(char: str) -> bool:
    """Whether it hardly starts or ends an entity."""
    return char in PAUSES or char.isspace() or unicodedata.category(char) == "So"


def read_offsets(path: Path, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of records of any layout. Units are the characters of the text.

    Raises ValueError (F107 to F109, F119, F156). Warns and raises as `reading_of`.
    """
    found = [Record(line, *parsed) for line, parsed in parsed_records(path, parse, LAYOUT)]
    records = [record for record in found if record.text]
    summary.skipped += len(found) - len(records)
    way = reading_of(path, records, summary.repair)
    for record in records:
        where = {"path": path, "line": record.line}
        entities, unknown = _placed(record, way, where, summary)
        kept = _longest(record.text, entities, where, summary)
        for dropped in {*entities}.difference(kept):
            unknown += range(dropped.start, dropped.end)
        yield Sentence(list(record.text), kept, unknown)


def reading_of(path: Path, records: Sequence[Record], repair: bool) -> Reading:
    """How the offsets of a file count: as its layout says, unless its records together say that
    they count in another way.

    Warns of that (W163), and if no way seems right (W162). Raises ValueError (F128) if records
    contradict each other or fit several other ways, unless repairs are enabled: then the way that
    fits best counts.
    """
    given = [(record, mention) for record in records for mention in record.mentions]
    inclusive = next((mention.inclusive for _, mention in given), False)
    ways = [Reading(unit, end) for end in (inclusive, not inclusive) for unit in UNITS]
    placed = {way: [each for record in records for each in record.placed(way)] for way in ways}
    doubts = {
        way: [record.doubt(each) for (record, _), each in zip(given, placed[way], strict=True)]
        for way in ways
    }

    def shown(flags: Iterable[bool], *chosen: Reading) -> str:
        """The first flagged mention, and what it is in some ways."""
        n, (record, (label, start, end, *_)) = next(compress(enumerate(given), flags))
        texts = ((way, record.at(placed[way][n])) for way in chosen)
        found = (f"{text!r} in {way}" if text else f"nothing in {way}" for way, text in texts)
        where = f"the {label} entity at [{start}, {end}) (line {record.line})"
        return f"{where} is {', '.join(found)}"

    usual, best = ways[0], min(ways[1:], key=lambda way: sum(doubts[way]))
    pairs = list(zip(doubts[usual], doubts[best], strict=True))
    worse, better = [a > b for a, b in pairs], [a < b for a, b in pairs]  # as usual
    gain, loss = [*compress(doubts[usual], worse)], [*compress(doubts[best], better)]
    # An end may look wrong by chance; other units move whole entities.
    needed = UNLIKELY if best.inclusive == usual.inclusive else IMPOSSIBLE
    fits = sum(gain) >= max(needed, sum(loss) + 1)
    ties = [way for way in ways if sum(doubts[way]) == sum(doubts[best])]
    rival = next((way for way in ties if placed[way] != placed[best]), None)
    is_open = rival or sum(gain) <= 3 * sum(loss) if fits else IMPOSSIBLE in gain
    if is_open and not repair:
        first = shown(worse, usual, best)
        if rival and fits:
            second = shown(map(ne, placed[best], placed[rival]), best, rival)
        else:
            second = shown(better, usual, best)
        raise ValueError(Errors.F128.format(path=path, first=first, second=second))
    if fits:
        message = Warnings.W163.format(path=path, way=best, first=shown(worse, usual, best))
        warnings.warn(message, stacklevel=2)
    else:
        best = usual
    unlikely = [doubt == UNLIKELY for doubt in doubts[best]]
    if sum(unlikely) > max(2, MAX_UNLIKELY * len(given)):
        words = {"n": sum(unlikely), "total": len(given), "first": shown(unlikely, best)}
        warnings.warn(Warnings.W162.format(path=path, **words), stacklevel=2)
    return best


def _placed(
    record: Record, way: Reading, where: dict[str, Path | Line], summary: Summary
) -> tuple[list[EntitySpan], list[int]]:
    """The entities, and unknown characters: all, if an entity isn't there. Raises ValueError (F107,
    F108) for wrong offsets unless repairs are enabled."""
    entities: list[EntitySpan] = []
    unknown: list[int] = []
    for given, mention in zip(record.mentions, record.placed(way), strict=True):
        label, start, end, surface, _ = mention
        if record.doubt(mention) < IMPOSSIBLE:
            entities.append(EntitySpan(start, end, label))
            continue
        words = {**where, "label": label, "offsets": f"[{given.start}, {given.end})", "way": way}
        if found := record.at(mention):
            error = Errors.F108.format(**words, surface=surface, found=found)
        else:
            error = Errors.F107.format(**words, length=len(record.text))
        summary.count_repair("text not annotated", error)
        unknown = [*range(len(record.text))]
    return entities, unknown


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
        kind = "second label" if (start, end) == other[:2] else "overlapping entity"
        summary.count_repair(f"{kind} dropped", error)
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
    if inclusive := isinstance(entities, dict):
        entities = list(_by_surface(entities))
    mentions = [
        each._replace(inclusive=inclusive) for entity in entities for each in _of_types(entity)
    ]
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
