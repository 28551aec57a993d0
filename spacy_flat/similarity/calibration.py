"""Fitting probabilities: temperature scaling (Guo et al., 2017), for two classes with a bias
(Platt, 1999), and the threshold.

Shapes: N pairs, K classes, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..util.arrays import Bools, Floats, Ints
from ..util.probabilities import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    SEEN,
    Calibration,
    calibration_error,
    log_softmax,
)

STEPS = 200  # of Newton's method
DAMPING = 1e-12  # for features that are always 0
# Of typical pairs: logits divided by the temperature, and cosines
SIZES, COSINES = (1.0, 3.0), (0.4, 0.7, 1.0)
DIGITS = 6  # survive the JSON of a saved pipeline
SLOPES = 1 / MAX_TEMPERATURE, 1 / MIN_TEMPERATURE
MAX_WEIGHT = 1000.0


@dataclass(frozen=True)
class PairCalibration(Calibration):
    """The effect of calibration on some pairs.

    cosine: weight of the cosine of two texts in the logit of the positive one of two classes.
    bias: added to that logit, after the temperature.
    threshold: the most accurate one on the positive class's probability; None for more than two.
    """

    pairs: int
    cosine: float
    bias: float
    threshold: float | None


def errors_of(probabilities: Floats, gold: Ints) -> tuple[float, float]:
    """The expected calibration error and the mean negative log-likelihood.

    probabilities: [N, K]; gold: [N] numbers of classes.
    """
    is_right = probabilities.argmax(axis=1) == gold
    of_gold = probabilities[np.arange(len(gold)), gold].astype(np.float64)
    loss = -float(np.log(np.maximum(of_gold, 1e-30)).mean())
    return calibration_error(probabilities.max(axis=1), is_right), loss


def fit_calibration(
    logits: Floats,
    cosines: Floats,
    positive: Floats,
    gold: Ints,
    before: tuple[float, float, float],
    shares: Floats | float = 1.0,
) -> tuple[float, float, float]:
    """The temperature, the weight of the cosines (0 or more), and the bias with the highest
    likelihood of these pairs and `SEEN` typical ones, which the earlier fit labels. The log-odds of
    both fits are averaged, the earlier one again as `SEEN` pairs: so n pairs, whatever their
    logits, raise the temperature by at most a share of n / `SEEN`.

    logits: [N, K]; cosines: [N]; gold: [N] numbers of classes.
    positive: [K] 1 for the class that the cosine and the bias count for, or zeros.
    before: the temperature, the weight of the cosines, and the bias.
    shares: [N] how much each pair counts.
    """
    (n, k), (temperature, *others) = logits.shape, before
    other_logits, other_cosines = typical_pairs(k, temperature)
    logits = np.concatenate([logits, other_logits])
    cosines = np.concatenate([cosines, other_cosines])
    bias = np.broadcast_to(positive, logits.shape)
    features = np.stack([logits, bias * cosines[:, None], bias], axis=2)
    earlier = [1 / temperature, *others]
    said = np.exp(log_softmax(features[n:] @ earlier))
    targets = np.concatenate([np.eye(k)[gold], said])
    shares = np.broadcast_to(shares, n)
    shares = np.concatenate([shares, np.full(len(said), shares.mean() * SEEN / len(said))])
    lowest, highest = (SLOPES[0], 0.0, -MAX_WEIGHT), (SLOPES[1], MAX_WEIGHT, MAX_WEIGHT)
    fitted = fit_weights(features, targets, lowest, highest, shares)
    slope, cosine, shift = np.average([fitted, earlier], axis=0, weights=[n, SEEN]).tolist()
    return round(1 / slope, DIGITS), round(cosine, DIGITS), round(shift, DIGITS)


def typical_pairs(k: int, temperature: float) -> tuple[Floats, Floats]:
    """Logits [M, K] and cosines [M]."""
    logits = [size * temperature * row for size in SIZES for row in np.eye(k)]
    return np.repeat(logits, len(COSINES), axis=0), np.tile(COSINES, len(logits))


def fit_weights(
    features: Floats,
    targets: Floats,
    lowest: Sequence[float],
    highest: Sequence[float],
    shares: Floats | float = 1.0,
) -> Floats:
    """The weights [F] with the highest likelihood of the classes, by Newton's method within bounds:
    the logit of a class is the weighted sum of its features.

    features: [N, K, F]; targets: [N, K] probabilities; shares: [N] how much each row counts.
    """
    features, shares = features.astype(np.float64), np.broadcast_to(shares, len(targets))
    low, high = np.array(lowest), np.array(highest)
    n_features = features.shape[2]
    weights = np.clip(np.zeros(n_features), low, high)
    for _ in range(STEPS):
        found = np.exp(log_softmax(features @ weights))
        centred = features - np.einsum("nk,nkf->nf", found, features)[:, None]
        slope = np.einsum("n,nk,nkf->f", shares, targets, centred)
        curvature = np.einsum("n,nk,nkf,nkg->fg", shares, found, centred, centred, optimize=True)
        is_stuck = (weights <= low) & (slope < 0) | (weights >= high) & (slope > 0)
        step, free = np.zeros(n_features), np.flatnonzero(~is_stuck)
        curvature = curvature[np.ix_(free, free)] + DAMPING * np.eye(len(free))
        step[free] = np.linalg.solve(curvature, slope[free])
        # Full steps overshoot where the slope is flat.
        moved = np.clip(weights + step / max(1.0, np.abs(step).max()), low, high)
        change, weights = np.abs(moved - weights).max(), moved
        if change < 1e-9:
            break
    return weights


def best_threshold(found: Floats, gold: Bools | Floats, before: float = 0.5) -> float:
    """The threshold that is right most often; of equally good ones the nearest to the one before.

    found: [N] probabilities of the positive class, which a threshold reaches or not.
    gold: [N] whether the class is the positive one, or the probability that it is.
    """
    values = np.unique(np.concatenate([[0.0], found, [1.0]]).astype(np.float64))
    middles = (values[1:] + values[:-1]) / 2
    thresholds = np.concatenate([middles, middles.round(DIGITS), [0.0, round(before, DIGITS), 1.0]])
    order = np.argsort(found)
    gains = np.concatenate([[0.0], np.cumsum(1 - 2 * gold[order].astype(np.float64))])
    right = gains[np.searchsorted(found[order], thresholds)]
    best = thresholds[right >= right.max() - 1e-9]
    is_short = best == best.round(DIGITS)
    best = best[is_short] if is_short.any() else best
    return float(best[np.abs(best - before).argmin()])
