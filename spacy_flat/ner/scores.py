"""Scores of entities: precision, recall and F1, also of those that training has not seen."""

from collections.abc import Container, Iterable, Sequence
from typing import Any

from spacy.language import Language
from spacy.scorer import PRFScore, Scorer
from spacy.training import Example

from .spans import get_char_ents, gold_annotation


def prf_scores(name: str, counts: PRFScore) -> dict[str, float | None]:
    """`NAME_p`, `NAME_r` and `NAME_f`; None where there is nothing to score."""
    any_scored = len(counts) > 0
    return {
        f"{name}_p": counts.precision if any_scored else None,
        f"{name}_r": counts.recall if any_scored else None,
        f"{name}_f": counts.fscore if any_scored else None,
    }


class SeenScorer(Scorer):
    """What `nlp.evaluate` takes as `scorer` to give the scores of `score_seen`, too. (It predicts
    for copies of the examples that it is given.)"""

    def __init__(
        self, nlp: Language, train_texts: Container[str], unannotated_labels: Sequence[str] = ()
    ) -> None:
        super().__init__(nlp)
        self.train_texts = train_texts
        self.unannotated_labels = unannotated_labels

    def score(self, examples: Iterable[Example], *, per_component: bool = False) -> dict[str, Any]:
        examples = list(examples)
        scores: dict[str, Any] = super().score(examples, per_component=per_component)
        return scores | score_seen(examples, self.train_texts, self.unannotated_labels)


def score_seen(
    examples: Iterable[Example], train_texts: Container[str], unannotated_labels: Sequence[str] = ()
) -> dict[str, Any]:
    """Scores of the entities that training has seen, and of those that it has not: `seen_p`,
    `seen_r`, `seen_f` and `unseen_p`, `unseen_r`, `unseen_f`, and how many gold entities each part
    has, `seen_entities` and `unseen_entities`.

    An entity is seen where its text, whatever its label, is one of `train_texts`, those of the
    training part's entities. Gold and predicted entities are divided alike, so that each is in one
    part, and a predicted entity that is right is in the part of the gold one. The precision of the
    unseen part is the share of right ones among the predicted entities of unseen text. Entities
    are compared by exact characters and label, as in `chars_f` (see `score_entities`).
    """
    parts = {"seen": PRFScore(), "unseen": PRFScore()}
    for example in examples:
        text = example.predicted.text
        gold = gold_annotation(example, unannotated_labels)
        found = gold.judged(get_char_ents(example.predicted), len(text))
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
