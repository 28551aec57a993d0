"""JSON with entities as character offsets, one record per line or all of them in one array.

CLUENER's records have inclusive offsets by type and surface (CLUENER2020, Xu et al. 2020,
arXiv:2001.04351; also the layout of `assets/demo`). All others have exclusive ends: annotation
tools write a list of entities, each an array or an object; Label Studio has the text in "data" and
the entities of each annotator in "annotations"; spaCy's `Example.from_dict` takes pairs. What tools
write differs: all records of a file together say how its offsets count.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, product
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import category, normalize

from spacy.lang.zh import try_jieba_import
from spacy.util import filter_spans

from ..errors import Errors, Warnings
from ..text import jieba_tokenizer as _quiet  # noqa: F401
from ..text.spans import EntitySpan
from .columns import Sentence
from .formats import Summary
from .records import Line

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
ODD = {"Po", "So", "Zs", "Cc"}  # Unicode's categories that hardly start or end an entity

# What speaks against a way of counting: an odd entity counts 1, an impossible one as much as
# another way needs, for which more than RATIO times as much has to speak as against it.
IMPOSSIBLE = LIMIT = RATIO = 3
# The share of odd entities is at most 24 % in published corpora, and at least 63 % if their ends
# are one too high or too low.
MAX_ODD = 0.4


class Mention(NamedTuple):
    """An entity with the offsets of its record, and its text, if the record has it.

    inclusive: the layout has the last character instead of the end.
    """

    label: str
    start: int
    end: int
    surface: str | None = None
    inclusive: bool = False


Parsed = Iterable[tuple[Line, tuple[str, Sequence[Mention]]]]


class Reading(NamedTuple):
    """A way to count offsets.

    first: number of the first unit. opposite: ends are inclusive where the layout has exclusive
    ones, and the other way round.
    """

    first: int
    opposite: bool
    unit: str

    def __str__(self) -> str:
        ends = "opposite to the layout's" if self.opposite else "as in the layout"
        return f"{self.unit} from {self.first} with ends {ends}"


WAYS = [Reading(*way) for way in product((0, 1), (False, True), UNITS)]  # the usual one first


class Place(NamedTuple):
    """Characters [start, end) of an entity, their text (empty if it isn't there), and what speaks
    against them."""

    start: int
    end: int
    text: str
    doubt: int


@dataclass(frozen=True)
class Record:
    """A record of a file."""

    line: Line
    text: str
    mentions: Sequence[Mention]

    def places(self, way: Reading) -> list[Place]:
        """The place of each mention. Its surface may differ from the text in white space and
        normalisation, as in exports of Label Studio."""
        starts = accumulate(map(UNITS[way.unit], self.text), initial=way.first)
        at = {unit: place for place, unit in enumerate(starts)}
        found = []
        for _, first, last, surface, inclusive in self.mentions:
            start = at.get(first, len(self.text))
            end = at.get(last + (inclusive != way.opposite), 0)
            text, doubt = self.text[start:end], 0
            if not text or (surface is not None and _folded(surface) != _folded(text)):
                doubt = IMPOSSIBLE
            elif surface is None:
                is_cut = not self._borders.issuperset((start, end))
                doubt = is_cut or not ODD.isdisjoint(map(category, (text[0], text[-1])))
            found.append(Place(start, end, text, doubt))
        return found

    @cached_property
    def _borders(self) -> set[int]:
        """Of jieba's words."""
        words = try_jieba_import().cut(self.text)  # type: ignore[no-untyped-call]
        return {*accumulate(map(len, words), initial=0)}


def read_offsets(path: Path, summary: Summary, parsed: Parsed) -> Iterator[Sentence]:
    """Yield the sentences of the lines, texts and entities of records. Units are the characters of
    the text.

    Raises ValueError (F107 to F109). Warns and raises as `reading_of`.
    """
    found = [Record(line, *record) for line, record in parsed]
    records = [record for record in found if record.text]
    summary.skipped += len(found) - len(records)
    way = reading_of(path, records)
    for record in records:
        where = {"path": path, "line": record.line}
        entities, unknown = _placed(record, way, where, summary)
        kept = longest(record.text, entities, where, summary)
        for dropped in {*entities}.difference(kept):
            unknown += range(dropped.start, dropped.end)
        yield Sentence(list(record.text), kept, unknown)


def reading_of(path: Path, records: Sequence[Record]) -> Reading:
    """How the offsets of a file count: as the layouts say, unless its records together say that
    they count in another way.

    Warns of that (W163), and if that or a shift may be (W162). Raises ValueError (F128) if records
    contradict each other or fit several other ways.
    """
    given = [(mention, record.line) for record in records for mention in record.mentions]
    found: dict[Reading, list[Place]] = {way: [] for way in WAYS}
    for record, way in product(records, WAYS):
        found[way] += record.places(way)
    doubts = {way: sum(place.doubt for place in places) for way, places in found.items()}
    usual, best = WAYS[0], min(WAYS, key=doubts.__getitem__)
    changes = [a.doubt - b.doubt for a, b in zip(found[usual], found[best], strict=True)]
    gain = sum(change for change in changes if change > 0)
    loss = gain - sum(changes)
    contradicted = gain <= RATIO * loss
    odd = sum(place.doubt > 0 for place in found[usual])
    is_odd = odd > MAX_ODD * len(given)

    def shown(fitting: Reading, other: Reading) -> str:
        """The entity that speaks most for one way and against another, and what it is in both."""
        pairs = zip(found[fitting], found[other], strict=True)
        # The largest difference of doubts first, then places that differ, then the largest doubt.
        strengths = [(b.doubt - a.doubt, a != b, b.doubt) for a, b in pairs]
        n = strengths.index(max(strengths))
        (label, start, end, *_), line = given[n]
        texts = (f"{_quoted(found[way][n].text)} in {way}" for way in {other: 0, fitting: 0})
        return f"the {label} entity at [{start}, {end}] (line {line}) is {', '.join(texts)}"

    # Units matter for few entities; other ends or first numbers for all.
    weak = (gain < LIMIT or not is_odd) if best.first or best.opposite else not gain
    if weak or (contradicted and loss < LIMIT):
        if best != usual or is_odd:
            words = {"n": odd, "total": len(given), "first": shown(best, usual)}
            warnings.warn(Warnings.W162.format(path=path, **words), stacklevel=2)
        return usual
    # Of several that fit as well, those that count from 0 are likelier.
    ties = [way for way in WAYS if doubts[way] == doubts[best] and way.first == best.first]
    differing = (way for way in ties if found[way] != found[best])
    if rival := usual if contradicted else next(differing, None):
        words = {"first": shown(best, usual), "second": shown(rival, best)}
        raise ValueError(Errors.F128.format(path=path, **words))
    message = Warnings.W163.format(path=path, way=best, first=shown(best, usual))
    warnings.warn(message, stacklevel=2)
    return best


def _placed(
    record: Record, way: Reading, where: dict[str, Path | Line], summary: Summary
) -> tuple[list[EntitySpan], list[int]]:
    """The entities, and unknown characters: all, if an entity isn't there. Raises ValueError (F107,
    F108) for wrong offsets unless repairs are enabled."""
    entities: list[EntitySpan] = []
    unknown: list[int] = []
    for mention, place in zip(record.mentions, record.places(way), strict=True):
        label, first, last, surface, _ = mention
        if place.doubt < IMPOSSIBLE:
            entities.append(EntitySpan(place.start, place.end, label))
            continue
        words = {**where, "label": label, "offsets": f"[{first}, {last}]", "way": way}
        if place.text:
            error = Errors.F108.format(**words, surface=_quoted(surface), found=place.text)
        else:
            error = Errors.F107.format(**words, length=len(record.text))
        summary.count_repair("text not annotated", error)
        unknown = [*range(len(record.text))]
    return entities, unknown


def _quoted(text: str | None) -> str:
    return repr(text) if text else "nothing"


@lru_cache(1000)  # a record's surfaces and their places are the same in most ways
def _folded(text: str) -> str:
    """A text without white space, also as "\\n" in HyperText of Label Studio, normalised."""
    return "".join(normalize("NFKC", text.replace("\\n", "")).split())


def longest(
    text: Sequence[str], entities: list[EntitySpan], where: Mapping[str, Any], summary: Summary
) -> list[EntitySpan]:
    """The longer of two overlapping entities, the first of two equally long ones. Raises ValueError
    (F109) unless repairs are enabled."""
    kept: list[EntitySpan] = filter_spans(entities)  # type: ignore[arg-type, assignment]
    for start, end, label in sorted({*entities}.difference(kept)):
        other = next(each for each in kept if each.start < end and start < each.end)
        words = {"label": label, "surface": "".join(text[start:end]), "other_label": other.label}
        words["other_surface"] = "".join(text[other.start : other.end])
        error = Errors.F109.format(**where, **words)
        kind = "second label" if (start, end) == other[:2] else "overlapping entity"
        summary.count_repair(f"{kind} dropped", error)
    return kept


# Records of a file


def parse(record: Any, key: str = "text") -> tuple[str, list[Mention]]:
    """The text and the entities of a record; no text if the record says nothing, since an
    annotator skipped it, rejected it, or has not seen it.

    Raises ValueError that says what is wrong with the layout.
    """
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        record = {key: record[0], "entities": record[1].get("entities", "")}
    if not isinstance(record, dict):
        raise ValueError("it is neither an object nor a pair of a text and an object")
    if "data" in record and record.keys() & {"annotations", "predictions"}:
        record = _task(record, key)
    text = record.get(key, record.get("data") if key == "text" else None)  # "data" in doccano
    if not isinstance(text, str):
        raise ValueError(f'it has no "{key}" (--text names another key of texts)')
    if record.get("answer") in ("reject", "ignore"):
        return "", []
    found = [record[key] for key in ENTITIES if isinstance(record.get(key, 0), list | dict | None)]
    if text and not found:
        raise ValueError("it has no list or object of entities")
    if all(entities is None for entities in found):
        return "", []
    entities: Any = next(filter(None, found), [])
    if inclusive := isinstance(entities, dict):
        entities = list(_by_surface(entities))
    mentions = [
        each._replace(inclusive=inclusive) for entity in entities for each in _of_types(entity)
    ]
    labels = [mention.label for mention in mentions]
    if not all(labels):
        raise ValueError("an entity has no type")
    "".join([text, *labels]).encode()  # raises for a surrogate, which JSON can escape
    return text, mentions


def _task(task: dict[str, Any], key: str) -> dict[str, Any]:
    """Data and entities of a task of Label Studio: those of the annotation that is marked as ground
    truth, or of the first one that was not skipped; of a prediction in a file without
    annotations."""
    try:
        given = task["annotations" if "annotations" in task else "predictions"]
        done = [each for each in given if not each.get("was_cancelled")]
        if not done:
            return {key: "", "spans": []}
        chosen = max(done, key=lambda annotation: bool(annotation.get("ground_truth")))
        values = [result["value"] for result in chosen["result"] if "value" in result]
        spans = [value for value in values if value.keys() & TYPES]
        return {key: task["data"].get(key), "spans": spans}
    except (AttributeError, KeyError, TypeError):
        raise ValueError('its "data" and "annotations" are not as Label Studio has them') from None


def _by_surface(labels: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """CLUENER's entities as objects."""
    for label, surfaces in labels.items():
        try:
            for surface, spans in surfaces.items():
                for start, last in spans:
                    yield {"start": start, "end": last, "label": label, "text": surface}
        except (AttributeError, TypeError, ValueError):
            problem = f"{surfaces!r} is not an object of surfaces and lists of offsets"
            raise ValueError(problem) from None


def _of_types(entity: Any) -> list[Mention]:
    """An entity in an array or an object, once with each of its types."""
    try:
        if isinstance(entity, list):
            entity = dict(zip(("start", "end", "label"), entity, strict=True))
        fields: dict[str, Any] = {**entity, **entity.get("globalOffsets", {})}  # of HyperText
        start, end = (fields.get(at, fields.get(f"{at}_offset")) for at in ("start", "end"))
        label = fields.get("label", fields.get("entity"))  # "entity" in Rasa
        labels = fields.get("labels", fields.get("hypertextlabels", [label]))
        if type(start) is not int or type(end) is not int or not isinstance(labels, list):
            raise TypeError
        surface = fields.get("text") if isinstance(fields.get("text"), str) else None
        return [Mention(label.strip(), start, end, surface) for label in labels or [""]]
    except (AttributeError, TypeError, ValueError):
        problem = f"{entity!r} is neither [start, end, type] nor an object with these"
        raise ValueError(problem) from None
