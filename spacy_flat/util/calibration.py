"""Calibration: how well probabilities match how often predictions are right."""

import numpy as np

from .arrays import Bools, Float64s

BINS = 10  # of equal width

# The best temperature for a few examples may be 0 or infinite.
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 20.0


class FittedTemperature:
    """The base of reports of a fitted temperature."""

    temperature_after: float

    @property
    def is_at_limit(self) -> bool:
        """Whether the best temperature is at its limit."""
        return not MIN_TEMPERATURE * 1.001 < self.temperature_after < MAX_TEMPERATURE / 1.001


def calibration_error(confidence: Float64s, is_right: Bools) -> float:
    """The expected calibration error (Guo et al., 2017): the distance between mean confidence and
    accuracy in each bin, averaged over all."""
    confidence = np.nan_to_num(confidence)
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    sums, right = (np.bincount(bins, each, BINS) for each in (confidence, is_right))
    return float(np.abs(sums - right).sum() / max(1, len(confidence)))
