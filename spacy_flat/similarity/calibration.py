"""Temperature scaling (Guo et al., 2017).

Shapes: N pairs, K classes.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..util.softmax import Floats, log_softmax
from .scores import calibration_error

Ints = NDArray[np.int64]

# The best temperature for a few pairs may be 0 or infinite.
LEAST, MOST = 0.05, 20.0
HALVINGS = 50
DIGITS = 6  # survive the JSON of a saved pipeline


@dataclass(frozen=True)
class Calibration:
    """The effect of a new temperature on some pairs.

    ece: the expected calibration error, as in `pairs_ece`.
    nll: the mean negative log-likelihood of the gold classes, in nats.
    """

    pairs: int
    temperature_before: float
    temperature_after: float
    ece_before: float
    ece_after: float
    nll_before: float
    nll_after: float

    @classmethod
    def of(cls, logits: Floats, gold: Ints, before: float, after: float) -> "Calibration":
        """logits: [N, K]; gold: [N] numbers of classes; before, after: temperatures."""
        changed = [log_softmax(logits.astype(np.float64) / each) for each in (before, after)]
        is_right = logits.argmax(axis=1) == gold
        errors = [calibration_error(np.exp(found).max(axis=1), is_right) for found in changed]
        losses = [-float(_of_gold(found, gold).mean()) for found in changed]
        return cls(len(gold), before, after, *errors, *losses)

    @property
    def is_at_limit(self) -> bool:
        """Whether the best temperature is out of bounds."""
        return not LEAST * 1.001 < self.temperature_after < MOST / 1.001


def fit_temperature(logits: Floats, gold: Ints) -> float:
    """Find the temperature from 0.05 to 20 with the highest likelihood of the gold classes.

    logits: [N, K]; gold: [N] numbers of classes. The negative log-likelihood is convex in the
    inverse of the temperature: bisection finds the zero of its slope.
    """
    logits = logits.astype(np.float64)
    reached = float(_of_gold(logits, gold).mean())
    low, high = math.log(LEAST), math.log(MOST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        probabilities = np.exp(log_softmax(logits / math.exp(middle)))
        # The slope by 1/T: the expected logit less that of the gold class.
        if (probabilities * logits).sum(axis=1).mean() > reached:
            low = middle  # overconfident
        else:
            high = middle
    return round(math.exp((low + high) / 2), DIGITS)


def _of_gold(values: Floats, gold: Ints) -> Floats:
    """[N, K] → [N]"""
    return np.take_along_axis(values, gold[:, None], axis=1)[:, 0]
