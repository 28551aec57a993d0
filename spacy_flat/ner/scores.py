"""Scores of entities: precision, recall and F1."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from spacy.scorer import PRFScore, get_ner_prf
from spacy.tokens import Span
from spacy.training import Example

from .spans import Annotation, get_char_ents, gold_annotation, in_characters


def score_entities(
    examples: Iterable[Example],
    unannotated_labels: Sequence[str] = (),
    label_map: Mapping[str, str] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """spaCy's scores of entities as tokens, and `chars_p`, `chars_r` and `chars_f` of their exact
    characters, which differ if an entity crosses token boundaries. None if there is nothing to
    score. Entities that the annotation can't judge are left out. If its labels are coarse,
    predicted entities are mapped to them."""
    comparable = []
    counts = PRFScore()
    for example in examples:
        gold = gold_annotation(example, unannotated_labels).mapped(label_map)
        found = gold.judged(get_char_ents(example.predicted), len(example.predicted.text))
        counts.score_set(set(found.values()), set(gold.spans))
        comparable.append(as_judged(example, gold))
    own = (counts.precision, counts.recall, counts.fscore) if len(counts) else (None,) * 3
    chars = zip(("chars_p", "chars_r", "chars_f"), own, strict=True)
    return {**get_ner_prf(comparable, **kwargs), **dict(chars)}


def as_judged(example: Example, gold: Annotation) -> Example:
    """The example with the predicted entities that the annotation can judge, under its labels, and
    without gold entities that a label map excludes."""
    if not (gold.unknown or gold.coarse):
        return example
    reference, predicted = example.reference, example.predicted.copy()
    places = {in_characters(ent): ent for ent in predicted.ents}
    judged = gold.judged(places, len(predicted.text))
    predicted.set_ents(
        [Span(predicted, places[s].start, places[s].end, own.label) for s, own in judged.items()]
    )
    if excluded := [ent for ent in reference.ents if gold.coarse.get(ent.label_) == []]:
        reference = reference.copy()
        reference.set_ents([], outside=excluded, default="unmodified")
    return Example(predicted, reference)


def make_scorer() -> Callable[..., dict[str, Any]]:
    """`spacy-flat.entity_scorer.v1`: see `score_entities`."""
    return score_entities
