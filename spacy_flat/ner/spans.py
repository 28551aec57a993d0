"""Entities between characters and tokens: gold entities to characters, predicted ones to tokens."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..errors import Errors
from ..text.spans import EntitySpan
from ..util.arrays import Bools

UNKNOWN = "unknown"  # the key of `doc.spans` for unannotated spans
_MOVED = "exact_chars"  # an extension of Span
_ALTERNATIVES = "entity_alternatives"  # an extension of Doc
_BEGIN = 3  # ENT_IOB of the first token of an entity; without a type: of a blocked token


class Annotation(NamedTuple):
    """The known entities of a text, in characters, and where others may be.

    spans: its entities, in order.
    unknown: stretches that may have other entities; of its label only, if a stretch has one.
    coarse: the labels that a label in `spans` stands for, if not only itself.
    """

    spans: list[EntitySpan]
    unknown: list[EntitySpan]
    coarse: Mapping[str, Sequence[str]] = {}

    def is_of_raw_text(self, text: str) -> bool:
        """Whether nothing is known of a text."""
        if self.spans or not text.strip():
            return False
        unknown = self.unknown_at("", len(text))
        return all(each or char.isspace() for each, char in zip(unknown, text, strict=True))

    def unknown_at(self, label: str, length: int) -> Bools:
        """[length] where in a text nothing is known ("" as label), or nothing of a label."""
        unknown = np.zeros(length, dtype=np.bool_)
        for start, end, of in self.unknown:
            if of in ("", label):
                unknown[start:end] = True
        return unknown

    def judged(self, found: Iterable[EntitySpan], length: int) -> dict[EntitySpan, EntitySpan]:
        """Each entity that the annotation covers, with the one to compare with the gold."""
        right, found = set(self.spans), list(found)
        unknown = {label: self.unknown_at(label, length) for label in {s.label for s in found}}
        pairs = [(span, self._own(span, right)) for span in found]
        return {
            span: own
            for span, own in pairs
            if own in right or not unknown[span.label][span.start : span.end].any()
        }

    def _own(self, span: EntitySpan, right: set[EntitySpan]) -> EntitySpan:
        """An entity with the annotation's label for it: of several, the correct one."""
        labels = [label for label, fine in self.coarse.items() if span.label in fine]
        own = [span._replace(label=label) for label in [*labels, span.label]]
        return next((each for each in own if each in right), own[0])

    def mapped(self, label_map: Mapping[str, str] | None) -> "Annotation":
        """The annotation under the labels of a component's `label_map`."""
        if label_map is None:
            return self
        labels = {**{span.label: [span.label] for span in self.spans}, **self.coarse}
        coarse = {
            label: sorted({label_map.get(each, each) for each in fine} - {""})
            for label, fine in labels.items()
        }
        unknown = [
            span._replace(label=label_map.get(span.label, span.label))
            for span in self.unknown
            if label_map.get(span.label) != ""
        ]
        return Annotation([s for s in self.spans if coarse[s.label]], unknown, coarse)


def gold_annotation(example: Example, unannotated: Sequence[str] = ()) -> Annotation:
    """The reference's entities, as characters of the predicted Doc's text.

    Tokens without annotation (spaCy's "-") and spans in `doc.spans["unknown"]` are unknown.
    unannotated: labels that are unknown everywhere, besides those in `doc._.unannotated_labels`.

    Raises ValueError (F304) where the texts of both differ in more than white space and case,
    TypeError (F026) for labels in one string.
    """
    reference = example.reference
    spans = [*map(in_characters, reference.ents)]
    unknown = [*_missing(reference), *map(in_characters, reference.spans.get(UNKNOWN, ()))]
    source, target = reference.text, example.predicted.text
    if source != target:
        spans, unknown = (_moved(each, source, target) for each in (spans, unknown))
    if target:
        labels = dict.fromkeys([*unannotated, *_listed(reference._.unannotated_labels)])
        unknown.extend(EntitySpan(0, len(target), label) for label in labels)
    return Annotation(spans, unknown, reference._.coarse_labels or {})


def _moved(spans: Sequence[EntitySpan], source: str, target: str) -> list[EntitySpan]:
    """Spans in a text that differs in white space and case only, as that of spaCy's
    `Example.from_dict` with words."""
    if "".join(source.split()).lower() != "".join(target.split()).lower():
        raise ValueError(Errors.F304.format(reference=source[:40], predicted=target[:40]))
    places = [place for place, char in enumerate(target) if not char.isspace()]
    before = [0, *accumulate(not char.isspace() for char in source)]
    return [
        EntitySpan(places[before[start]], places[before[end] - 1] + 1, label)
        for start, end, label in spans
        if before[start] < before[end]
    ]


def unscored_labels(unannotated: Iterable[str], examples: Iterable[Example]) -> list[str]:
    """The unannotated labels that no gold entity has. A corpus that has some annotates the label,
    though the one that the pipeline was trained on did not."""
    annotated = {ent.label_ for example in examples for ent in example.reference.ents}
    return [label for label in unannotated if label not in annotated]


def meaning(label: str, doc: Doc) -> tuple[str, ...]:
    """The fine labels that a gold label covers: itself, unless its corpus has coarse labels."""
    return _listed((doc._.coarse_labels or {}).get(label)) or (label,)


def labels_in(docs: Iterable[Doc]) -> set[str]:
    """The labels that the entities of gold Docs cover."""
    return {label for doc in docs for ent in doc.ents for label in meaning(ent.label_, doc)}


def names_in(doc: Doc) -> list[tuple[str, str]]:
    """Text and label of the entities of a gold Doc whose label stands for one."""
    named = ((ent.text, meaning(ent.label_, doc)) for ent in doc.ents)
    return [(text, labels[0]) for text, labels in named if len(labels) == 1]


def _listed(labels: Sequence[str] | None) -> tuple[str, ...]:
    """Raises TypeError (F026) for a single label, whose letters would be taken for labels."""
    if isinstance(labels, str):
        raise TypeError(Errors.F026.format(value=repr(labels)))
    return tuple(labels or ())


def _missing(doc: Doc) -> Iterator[EntitySpan]:
    """Stretches of tokens without annotation."""
    iob = doc.to_array("ENT_IOB").astype(np.int64)
    edges = np.diff(iob == 0, prepend=False, append=False).nonzero()[0].reshape(-1, 2)
    for first, last in edges.tolist():
        yield in_characters(doc[first:last])


def in_characters(span: Span) -> EntitySpan:
    return EntitySpan(span.start_char, span.end_char, span.label_)


def set_entities(
    doc: Doc,
    spans: Iterable[EntitySpan],
    overwrite: bool,
    confidence: Iterable[float | None] | None = None,
) -> None:
    """Write entities to `doc.ents`, as the tokens that they touch, all others being outside of any.
    Of entities that share a token the first stays.

    overwrite: drop the Doc's entities; otherwise they and blocked tokens stay, and new entities
        that share a token with them are left out.
    confidence: of each entity, for `span._.confidence`.
    """
    entities, blocked = ([], []) if overwrite else existing_entities(doc)
    taken = {place for old in (*entities, *blocked) for place in range(old.start, old.end)}
    for span, share in zip(spans, confidence or repeat(None)):  # noqa: B905  (endless)
        entity = doc.char_span(*span, alignment_mode="expand")
        if entity is not None and taken.isdisjoint(range(entity.start, entity.end)):
            taken.update(range(entity.start, entity.end))
            entities.append(entity)
            # How far the exact characters are from the tokens' ends. spaCy keeps such attributes of
            # spans right in `Span.as_doc` and `Doc.from_docs`.
            moved = [span.start - entity.start_char, span.end - entity.end_char]
            if any(moved) or entity._.get(_MOVED):
                entity._.set(_MOVED, [span.label, *moved])
            if share is not None or entity._.confidence is not None:
                entity._.confidence = share
    doc.set_ents(entities, blocked=blocked, default="outside")


def get_char_ents(doc: Doc) -> list[EntitySpan]:
    """`doc._.char_ents`: the entities in `doc.ents`, as (start, end, label) in characters of
    `doc.text`. They are exact also where an entity was expanded to tokens."""
    return [_exact(ent) for ent in doc.ents]


def get_alternatives(doc: Doc, k: int | None = None) -> list[tuple[list[EntitySpan], float]]:
    """`doc._.ent_alternatives(k)`: the most probable annotations of a Doc, the best first, as
    entities in characters and their joint probability. There are as many as the component's
    setting `alternatives`, or fewer; k: only the first.

    Raises ValueError (F385) where none were asked for."""
    found = doc._.get(_ALTERNATIVES)
    if found is None:
        raise ValueError(Errors.F385)
    return [([EntitySpan(*span) for span in spans], share) for spans, share in found[:k]]


def set_alternatives(
    doc: Doc, found: Iterable[tuple[Iterable[EntitySpan], float]], kept: Iterable[Span]
) -> None:
    """Write the most probable annotations; each has the entities that are kept, too, instead of
    those that overlap with them."""
    given = [*map(in_characters, kept)]
    taken = {place for span in given for place in range(*span[:2])}
    plain = [
        [sorted([*given, *(s for s in spans if taken.isdisjoint(range(*s[:2])))]), share]
        for spans, share in found
    ]
    if plain or doc._.get(_ALTERNATIVES):
        doc._.set(_ALTERNATIVES, plain)


def _exact(ent: Span) -> EntitySpan:
    # Discard what was stored for another entity on the same tokens.
    label, start, end = ent._.get(_MOVED) or ("", 0, 0)
    if label != ent.label_:
        start = end = 0
    return EntitySpan(ent.start_char + start, ent.end_char + end, ent.label_)


def existing_entities(doc: Doc) -> tuple[list[Span], list[Span]]:
    """The entities of a Doc, and its blocked tokens."""
    if not doc.has_annotation("ENT_IOB"):
        return [], []
    iob, types = doc.to_array(["ENT_IOB", "ENT_TYPE"]).T
    places = np.flatnonzero((iob == _BEGIN) & (types == 0)).tolist()
    return list(doc.ents), [doc[place : place + 1] for place in places]


for _name in ("coarse_labels", "unannotated_labels", _ALTERNATIVES):
    Doc.set_extension(_name, default=None, force=True)
Doc.set_extension("char_ents", getter=get_char_ents, force=True)
Doc.set_extension("ent_alternatives", method=get_alternatives, force=True)
for _name in (_MOVED, "confidence"):
    Span.set_extension(_name, default=None, force=True)
