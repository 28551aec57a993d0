"""Temperature scaling of the probabilities of entities (Guo et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from ..errors import Errors
from ..util.arrays import Bools, Float64s
from ..util.probabilities import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    Calibration,
    calibration_error,
    with_before,
)
from .decoding import Decoding, find_entities, span_probabilities
from .emissions import Emissions
from .network import TaggingNetwork
from .spans import Annotation

_HALVINGS = 14  # of the logarithms of all temperatures
_STEP = 1e-3  # in such a logarithm


@dataclass(frozen=True)
class EntityCalibration(Calibration):
    """The effect of a new temperature on the entities found, which are right or wrong."""

    entities: int


def fit(
    emissions: Emissions,
    network: TaggingNetwork,
    decoding: Decoding,
    gold: Sequence[Annotation],
    name: str,
) -> EntityCalibration:
    """Find the temperature from 0.05 to 20 with the highest likelihood of which of the predicted
    entities are right and which are wrong. The probabilities before count as twenty more.

    decoding: with the temperature before. gold: the annotation of each text, in characters.

    Raises ValueError (F348) if no entities are found that the annotation can judge.
    """
    emissions = replace(emissions, batches=list(emissions.batches))
    plain = replace(decoding, confidence=False, alternatives=0, threshold=None)
    found = find_entities(emissions, network, plain, {})
    judged = [
        known.judged(each.entities, len(text.text))
        for known, each, text in zip(gold, found, emissions.texts, strict=True)
    ]
    pairs = zip(gold, judged, strict=True)
    right = [own in known.spans for known, each in pairs for own in each.values()]
    is_right = np.array(right, np.bool_)
    if not len(is_right):
        raise ValueError(Errors.F348.format(name=name))

    def confidence(temperature: float) -> Float64s:
        changed, scored = replace(plain, temperature=temperature), [*map(list, judged)]
        return np.array([*chain(*span_probabilities(emissions, network, changed, {}, scored))])

    def loss(shares: Float64s, targets: Float64s | Bools = is_right) -> float:
        shares = shares.clip(1e-12, 1 - 1e-12)
        return -float((targets * np.log(shares) + (1 - targets) * np.log(1 - shares)).mean())

    before = decoding.temperature
    first = confidence(before)
    targets = with_before(is_right, first)
    after = round(lowest(lambda temperature: loss(confidence(temperature), targets)), 6)
    last = confidence(after)
    return EntityCalibration(
        entities=len(is_right),
        temperature_before=before,
        temperature_after=after,
        ece_before=calibration_error(first, is_right),
        ece_after=calibration_error(last, is_right),
        nll_before=loss(first),
        nll_after=loss(last),
    )


def lowest(loss: Callable[[float], float]) -> float:
    """The temperature with the lowest loss, found by bisection."""
    low, high = math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if loss(math.exp(middle - _STEP)) < loss(math.exp(middle + _STEP)):
            high = middle
        else:
            low = middle
    return math.exp((low + high) / 2)
