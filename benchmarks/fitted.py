"""What thresholds and a temperature change that were fitted to other pairs than those scored.

Shapes: N pairs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spacy_flat.similarity.calibration import fit_temperature
from spacy_flat.similarity.scores import calibration_error
from spacy_flat.util.softmax import log_softmax

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
# Scores [N] of taking so many pairs for the same, from true positives [N] and numbers of pairs.
Measure = Callable[[Floats, Floats, int, int], Floats]

LEAST = 1e-7  # below which probabilities in single precision are 0


class Predictions(NamedTuple):
    """gold: [N] whether pairs are the same; found: [N] the probabilities that they are."""

    gold: Bools
    found: Floats

    def every_second(self, first: int) -> "Predictions":
        return Predictions(self.gold[first::2], self.found[first::2])


def fitted_scores(parts: dict[str, Predictions]) -> dict[str, Any]:
    """Fitted to dev and scored on test; where there is no test part, each half of dev (every second
    pair) is scored with what was fitted to the other.

    acc, f: of "same", at the threshold at which each is best where it was fitted.
    ece_before, ece: the expected calibration error, without and with the temperature.
    """
    dev = parts["dev"]
    if "test" in parts:
        on, folds = "test", [(dev, parts["test"])]
    else:
        even, odd = dev.every_second(0), dev.every_second(1)
        on, folds = "halves of dev", [(even, odd), (odd, even)]
    gold, found = (np.concatenate([to[field] for _, to in folds]) for field in (0, 1))
    after = np.concatenate([calibrated(of, to) for of, to in folds])
    return {
        "on": on,
        "acc": float((choose(folds, accuracy) == gold).mean()),
        "f": f_score(gold, choose(folds, f_scores)),
        "ece_before": calibration_error_of(gold, found),
        "ece": calibration_error_of(gold, after),
    }


def choose(folds: list[tuple[Predictions, Predictions]], measure: Measure) -> Bools:
    return np.concatenate([to.found >= best_threshold(of, measure) for of, to in folds])


def best_threshold(predictions: Predictions, measure: Measure) -> float:
    """The threshold at which the measure is best, in the middle between two probabilities."""
    order = np.argsort(-predictions.found, kind="stable")
    found, gold = predictions.found[order], predictions.gold[order]
    bounds = np.concatenate([[1.0], found, [0.0]])
    right = np.concatenate([[0], gold.cumsum()]).astype(np.float64)
    taken = np.arange(len(gold) + 1, dtype=np.float64)
    scores = measure(right, taken, int(gold.sum()), len(gold))
    # Equal probabilities are all taken, or none of them.
    scores[1:-1][found[:-1] == found[1:]] = -1
    best = int(scores.argmax())
    return 1.1 if best == 0 else float(bounds[best] + bounds[best + 1]) / 2


def accuracy(right: Floats, taken: Floats, n_same: int, n_pairs: int) -> Floats:
    return (n_pairs - n_same - taken + 2 * right) / n_pairs


def f_scores(right: Floats, taken: Floats, n_same: int, n_pairs: int) -> Floats:
    return 2 * right / np.maximum(1, taken + n_same)


def f_score(gold: Bools, chosen: Bools) -> float:
    return float(2 * (gold & chosen).sum() / max(1, gold.sum() + chosen.sum()))


def calibrated(of: Predictions, to: Predictions) -> Floats:
    """[N] probabilities of pairs with the temperature that was fitted to others."""
    temperature = fit_temperature(logits(of.found), of.gold.astype(np.int64))
    return np.exp(log_softmax(logits(to.found) / temperature))[:, 1]


def logits(found: Floats) -> Floats:
    """[N] → [N, 2]"""
    clipped = np.clip(found, LEAST, 1 - LEAST)
    return np.log(np.stack([1 - clipped, clipped], axis=1))


def calibration_error_of(gold: Bools, found: Floats) -> float:
    return calibration_error(np.maximum(found, 1 - found), (found >= 0.5) == gold)
