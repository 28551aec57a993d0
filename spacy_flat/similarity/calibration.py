"""Temperature scaling (Guo et al., 2017), for two classes with a bias (Platt, 1999).

Shapes: N pairs, K classes, F features.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..util.arrays import Bools, Floats, Ints
from ..util.probabilities import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    FittedTemperature,
    calibration_error,
    log_softmax,
)

HALVINGS = 50
STEPS = 100  # of Newton's method
DIGITS = 6  # survive the JSON of a saved pipeline
MAX_COSINE = 1000.0  # its weight


@dataclass(frozen=True)
class PairCalibration(FittedTemperature):
    """The effect of calibration on some pairs.

    ece: the expected calibration error, as in `pairs_ece`.
    nll: the mean negative log-likelihood of the gold classes, in nats.
    cosine: weight of the cosine of two texts in the logit of the positive one of two classes.
    bias: added to that logit, after the temperature.
    threshold: the most accurate threshold on the probability of the positive class.
    """

    pairs: int
    temperature_before: float
    temperature_after: float
    ece_before: float
    ece_after: float
    nll_before: float
    nll_after: float
    cosine: float = 0.0
    bias: float = 0.0
    threshold: float | None = None

    @classmethod
    def of(
        cls,
        logits: Floats,
        gold: Ints,
        before: float,
        after: float,
        biases: tuple[Floats, Floats] | None = None,
    ) -> "PairCalibration":
        """logits: [N, K]; gold: [N] numbers of classes; before, after: temperatures; biases: [N, K]
        before and after."""
        added = biases or (np.zeros(logits.shape[1]),) * 2
        changed = [
            log_softmax(logits.astype(np.float64) / each + bias)
            for each, bias in zip((before, after), added, strict=True)
        ]
        errors = [
            calibration_error(np.exp(found).max(axis=1), found.argmax(axis=1) == gold)
            for found in changed
        ]
        losses = [-float(_of_gold(found, gold).mean()) for found in changed]
        return cls(len(gold), before, after, *errors, *losses)


def fit_temperature(logits: Floats, gold: Ints) -> float:
    """Find the temperature from 0.05 to 20 with the highest likelihood of the gold classes.

    logits: [N, K]; gold: [N] numbers of classes. The negative log-likelihood is convex in the
    inverse of the temperature: bisection finds the zero of its slope.
    """
    logits = logits.astype(np.float64)
    reached = float(_of_gold(logits, gold).mean())
    low, high = math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        probabilities = np.exp(log_softmax(logits / math.exp(middle)))
        # The slope by 1/T: the expected logit less that of the gold class.
        if (probabilities * logits).sum(axis=1).mean() > reached:
            low = middle  # overconfident
        else:
            high = middle
    return round(math.exp((low + high) / 2), DIGITS)


def fit_logistic(
    features: Floats,
    gold: Bools,
    ridge: float = 1e-6,
    given: Floats | float = 0.0,
    shares: Floats | float = 1.0,
) -> Floats:
    """The weights [F] of a logistic regression on features [N, F], by Newton's method.

    given: [N] part of the logits that is fixed. shares: [N] how much each row counts.
    """
    features = features.astype(np.float64)
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        found = 1 / (1 + np.exp(-np.clip(features @ weights + given, -50, 50)))
        slope = features.T @ (shares * (gold - found)) - ridge * weights
        curvature = (features.T * (shares * found * (1 - found))) @ features
        step = np.linalg.solve(curvature + ridge * np.eye(len(weights)), slope)
        # Where all pairs are right the best weights are infinite.
        weights += step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-9:
            break
    return weights


def fit_margins(margins: Floats, cosines: Floats, gold: Bools) -> tuple[float, float, float]:
    """The temperature, the weight of the cosines (0 or more), and the bias with the highest
    likelihood.

    margins: [N] logits of the positive of two classes, less those of the other. cosines: [N]
    """
    most, least = margins[~gold].max(initial=-np.inf), margins[gold].min(initial=np.inf)
    if most < least:  # all are right: the best slope is infinite
        middle = float(most + least) / 2
        return (
            MIN_TEMPERATURE,
            0.0,
            round(-middle / MIN_TEMPERATURE, DIGITS) if np.isfinite(middle) else 0.0,
        )
    mean, spread = float(cosines.mean()), max(float(cosines.std()), 1e-6)
    # Newton's method takes few steps if the columns have the same scale.
    columns = np.stack([margins, (cosines - mean) / spread, np.ones(len(margins))], axis=1)
    slope, weight, bias = fit_logistic(columns, gold, ridge=1e-3).tolist()
    if weight <= 0:
        weight, (slope, bias) = 0.0, fit_logistic(columns[:, [0, 2]], gold).tolist()
    if not 1 / MAX_TEMPERATURE <= slope <= 1 / MIN_TEMPERATURE:
        slope = min(max(slope, 1 / MAX_TEMPERATURE), 1 / MIN_TEMPERATURE)
        given = slope * margins
        weight, bias = fit_logistic(columns[:, 1:], gold, ridge=1e-3, given=given).tolist()
        if weight <= 0:
            weight, (bias,) = 0.0, fit_logistic(columns[:, 2:], gold, given=given).tolist()
    weight = min(weight / spread, MAX_COSINE)
    return round(1 / slope, DIGITS), round(weight, DIGITS), round(bias - weight * mean, DIGITS)


def best_threshold(found: Floats, gold: Bools) -> float:
    """The threshold that is right most often; of equally good ones the nearest to 0.5.

    found: [N] probabilities of the positive class, which a threshold reaches or not.
    """
    values = np.unique(np.concatenate([[0.0], found, [1.0]]).astype(np.float64))
    thresholds = np.append((values[1:] + values[:-1]) / 2, 0.5)
    negatives = np.searchsorted(np.sort(found[~gold]), thresholds)
    positives = gold.sum() - np.searchsorted(np.sort(found[gold]), thresholds)
    right = negatives + positives
    best = thresholds[right == right.max()]
    return round(float(best[np.abs(best - 0.5).argmin()]), DIGITS)


def _of_gold(values: Floats, gold: Ints) -> Floats:
    """[N, K] → [N]"""
    return np.take_along_axis(values, gold[:, None], axis=1)[:, 0]
