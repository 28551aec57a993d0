"""Scores of predictions for pairs."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from spacy.scorer import PRFScore
from spacy.training import Example

from ..util.arrays import Bools, Float64s
from ..util.probabilities import calibration_error


def score_pairs(
    examples: Iterable[Example],
    *,
    labels: Sequence[str] = (),
    positive: str | None = None,
    threshold: float = 0.5,
    **_: Any,
) -> dict[str, Any]:
    """Score `doc.cats` for examples whose reference has one of the labels.

    labels: the classes, or the one label of a score.
    positive: the class, of two, to give precision, recall, F1 and AUC for.
    threshold: the probability from which a pair counts as `positive`.

    `pairs_score` is the accuracy, or Spearman's correlation of scores; None without gold pairs.
    """
    gold, found = labelled(examples, labels)
    if len(labels) == 1:
        spearman = correlation(ranks(gold), ranks(found[:, 0]))
        return {"pairs_score": spearman, "pairs_spearman": spearman}
    if not len(gold):
        return {"pairs_score": None, "pairs_acc": None}
    chosen = found.argmax(1)
    scores: dict[str, Any] = {"pairs_ece": calibration_error(found.max(1), gold == chosen)}
    if positive is not None and len(labels) == 2:
        number = labels.index(positive)
        chosen = np.where(found[:, number] >= threshold, number, 1 - number)
        tp = int(((gold == number) & (chosen == number)).sum())
        fp, fn = int((chosen == number).sum()) - tp, int((gold == number).sum()) - tp
        prf = PRFScore(tp=tp, fp=fp, fn=fn).to_dict()
        scores |= {f"pairs_{name}": value for name, value in prf.items()}
        scores["pairs_auc"] = area_under_curve(gold == number, found[:, number])
    accuracy = float((gold == chosen).mean())
    return {**scores, "pairs_score": accuracy, "pairs_acc": accuracy}


def labelled(examples: Iterable[Example], labels: Sequence[str]) -> tuple[Float64s, Float64s]:
    """Of the examples with gold: [N] numbers of classes, or scores, and the predicted [N, K]."""
    rows = [
        (value, *(example.predicted.cats.get(label, 0.0) for label in labels))
        for example in examples
        if (value := gold_of(example, labels)) is not None
    ]
    table = np.array(rows, dtype=np.float64).reshape(-1, 1 + len(labels))
    return table[:, 0], table[:, 1:]


def gold_of(example: Example, labels: Sequence[str]) -> float | int | None:
    """The number of the gold class, or the gold score if there is one label; None without gold.

    `doc.cats` may lack labels: of two, a value below 0.5 stands for the other.
    """
    values = np.array([example.reference.cats.get(label, math.nan) for label in labels])
    if np.isnan(values).all():
        return None
    if len(labels) == 1:
        return float(values[0])
    if len(labels) == 2:
        values = np.where(np.isnan(values), 1 - values[::-1], values)
    best = int(np.nanargmax(values))
    return best if values[best] > 0 else None


def area_under_curve(gold: Bools, found: Float64s) -> float | None:
    """The area under the ROC curve, by ranks (Mann & Whitney, 1947); None if there is one class."""
    n_positive, n_negative = int(gold.sum()), int((~gold).sum())
    if not n_positive or not n_negative:
        return None
    wins = ranks(found)[gold].sum() - n_positive * (n_positive - 1) / 2
    return float(wins / (n_positive * n_negative))


def correlation(first: Float64s, second: Float64s) -> float | None:
    """Pearson's correlation; None if either is constant."""
    if len(first) < 2 or not np.ptp(first) or not np.ptp(second):
        return None
    return float(np.corrcoef(first, second)[0, 1])


def ranks(values: Float64s) -> Float64s:
    """[N] → [N] ranks from 0; equal values share their mean rank."""
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    means: Float64s = (np.cumsum(counts) - (counts + 1) / 2)[numbers]
    return means


def make_scorer() -> Callable[..., dict[str, Any]]:
    """`spacy-flat.pair_scorer.v1`: see `score_pairs`."""
    return score_pairs
