"""Probabilities: log-softmax without torch, calibration, and the best combinations of choices."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import TypeVar

import numpy as np

from .arrays import Bools, Float64s, Floats

T = TypeVar("T")

BINS = 10  # of equal width

# The best temperature for a few examples may be 0 or infinite.
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 20.0

SEEN = 20.0  # how many examples an earlier fit counts as


def log_softmax(logits: Floats) -> Floats:
    """[N, K] → [N, K]"""
    shifted = logits - logits.max(axis=1, keepdims=True)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


@dataclass(frozen=True)
class Calibration:
    """The effect of calibration on predictions.

    ece: the expected calibration error.
    nll: the mean negative log-likelihood of what is right, in nats.
    """

    temperature_before: float
    temperature_after: float
    ece_before: float
    ece_after: float
    nll_before: float
    nll_after: float


def with_before(gold: Bools, before: Float64s | Bools) -> Float64s:
    """[N] targets smoothed by the earlier predictions, which count as `SEEN` more examples, so that
    a few examples change little.

    before: [N] the earlier predictions, as probabilities or decisions.
    """
    found: Float64s = (len(gold) * gold + SEEN * before) / (len(gold) + SEEN)
    return found


def calibration_error(confidence: Float64s, is_right: Bools) -> float:
    """The expected calibration error (Guo et al., 2017): the distance between mean confidence and
    accuracy in each bin, averaged over all."""
    confidence = np.nan_to_num(confidence)
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    sums, right = (np.bincount(bins, each, BINS) for each in (confidence, is_right))
    return float(np.abs(sums - right).sum() / max(1, len(confidence)))


def best_combinations(
    parts: Sequence[Sequence[tuple[float, T]]], n: int
) -> list[tuple[float, list[T]]]:
    """The n combinations of one choice a part with the highest sums, best first, with these."""
    found: list[tuple[float, list[T]]] = [(0.0, [])]
    for choices in parts:
        longer = ((total + score, own, each) for total, own in found for score, each in choices)
        best = nlargest(n, longer, key=lambda chain: chain[0])
        found = [(total, [*own, each]) for total, own, each in best]
    return found
