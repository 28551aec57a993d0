"""Scores of entities: precision, recall and F1, also for entities unseen in training."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any

from spacy.language import Language
from spacy.scorer import PRFScore, Scorer, get_ner_prf
from spacy.tokens import Span
from spacy.training import Example

from ..text.units import EntitySpan
from .spans import Annotation, get_char_ents, gold_annotation, unscored_labels


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
    return {**get_ner_prf(comparable, **kwargs), **prf_scores("chars", counts)}


def as_judged(example: Example, gold: Annotation) -> Example:
    """The example with the predicted entities that the annotation can judge, under its labels, and
    without gold entities that a label map excludes."""
    if not (gold.unknown or gold.coarse):
        return example
    reference, predicted = example.reference, example.predicted.copy()
    places = {EntitySpan(e.start_char, e.end_char, e.label_): e for e in predicted.ents}
    judged = gold.judged(places, len(predicted.text))
    predicted.set_ents(
        [Span(predicted, places[s].start, places[s].end, own.label) for s, own in judged.items()]
    )
    if excluded := [ent for ent in reference.ents if gold.coarse.get(ent.label_) == []]:
        reference = reference.copy()
        reference.set_ents([], outside=excluded, default="unmodified")
    return Example(predicted, reference)


def make_scorer() -> Callable[..., dict[str, Any]]:
    """`spacy-flat.entity_scorer.v1`: scores of entities as tokens and as characters; see
    `score_entities`."""
    return score_entities


def prf_scores(name: str, counts: PRFScore) -> dict[str, float | None]:
    """`NAME_p`, `NAME_r` and `NAME_f`; None if there is nothing to score."""
    any_scored = len(counts) > 0
    return {
        f"{name}_p": counts.precision if any_scored else None,
        f"{name}_r": counts.recall if any_scored else None,
        f"{name}_f": counts.fscore if any_scored else None,
    }


class SeenScorer(Scorer):
    """A `scorer` for `nlp.evaluate` that adds the scores of `score_seen` if there are texts of a
    training part, and keeps the annotated `examples`."""

    def __init__(
        self,
        nlp: Language,
        train_texts: Collection[str],
        unannotated_labels: Sequence[str] = (),
        label_map: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(nlp)
        self.train_texts = train_texts
        self.unannotated_labels = unannotated_labels
        self.label_map = label_map

    @property
    def unscored_labels(self) -> list[str]:
        return unscored_labels(self.unannotated_labels, self.examples)

    def score(self, examples: Iterable[Example], *, per_component: bool = False) -> dict[str, Any]:
        self.examples = list(examples)
        scores: dict[str, Any] = super().score(self.examples, per_component=per_component)
        if self.train_texts:
            settings = self.train_texts, self.unscored_labels, self.label_map
            scores |= score_seen(self.examples, *settings)
        return scores


def score_seen(
    examples: Iterable[Example],
    train_texts: Container[str],
    unannotated_labels: Sequence[str] = (),
    label_map: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Scores of entities seen in training, `seen_p`, `seen_r`, `seen_f`, and of others, `unseen_p`,
    `unseen_r`, `unseen_f`, with the number of gold entities, `seen_entities` and `unseen_entities`.

    An entity, gold or predicted, is seen if its text is among `train_texts`, those of the training
    part's entities, with any label. Entities are compared by exact characters and label, as in
    `chars_f` (see `score_entities`).
    """
    parts = {"seen": PRFScore(), "unseen": PRFScore()}
    for example in examples:
        text = example.predicted.text
        gold = gold_annotation(example, unannotated_labels).mapped(label_map)
        found = set(gold.judged(get_char_ents(example.predicted), len(text)).values())
        for name, counts in parts.items():
            found_here, gold_here = (
                {s for s in spans if (text[s.start : s.end] in train_texts) == (name == "seen")}
                for spans in (found, gold.spans)
            )
            counts.score_set(found_here, gold_here)
    scores: dict[str, Any] = {}
    for name, counts in parts.items():
        scores |= {**prf_scores(name, counts), f"{name}_entities": counts.tp + counts.fn}
    return scores
