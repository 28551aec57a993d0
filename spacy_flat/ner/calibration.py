"""Temperature scaling of the probabilities of entities (Guo et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Errors
from ..text.units import EntitySpan, Segment
from ..util.arrays import Float64s
from ..util.probabilities import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    FittedTemperature,
    calibration_error,
)
from .decoding import Decoder, Decoding
from .spans import Annotation

if TYPE_CHECKING:
    from .model import Emissions
    from .network import TaggingNetwork

_STEPS = 18  # 16 stop short of the limits
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class EntityCalibration(FittedTemperature):
    """The effect of a new temperature on the entities found.

    ece: the expected calibration error. nll: the mean negative log-likelihood of their being right
    or wrong, in nats.
    """

    entities: int
    temperature_before: float
    temperature_after: float
    ece_before: float
    ece_after: float
    nll_before: float
    nll_after: float


def fit(
    emissions: Emissions,
    network: TaggingNetwork,
    decoding: Decoding,
    gold: Sequence[Annotation],
    name: str,
) -> EntityCalibration:
    """Find the temperature from 0.05 to 20 with the highest likelihood of which of the predicted
    entities are right and which are wrong.

    decoding: with the temperature before. gold: the annotation of each text, in characters.

    Raises ValueError (F348) if no entities are found that the annotation can judge.
    """
    batches = list(emissions.batches)

    def decoder(**changed: Any) -> Decoder:
        return Decoder(emissions, network, replace(decoding, **changed))

    found = decoder(confidence=False, alternatives=0, thresholds=None)
    seen: set[tuple[int, EntitySpan]] = set()  # an entity in two segments that overlap counts once
    spans: dict[Segment, list[EntitySpan]] = {}
    right = []
    for part in (part for batch in batches for part in found.decode(batch)):
        number = part.segment.text
        text, known = emissions.texts[number], gold[number]
        for span in (each for each in part.spans if (number, each) not in seen):
            seen.add((number, span))
            for own in known.judged(text.to_characters([span]), len(text.text)).values():
                spans.setdefault(part.segment, []).append(span)
                right.append(own in known.spans)
    is_right = np.array(right, dtype=np.bool_)
    if not right:
        raise ValueError(Errors.F348.format(name=name))

    def confidence(temperature: float) -> Float64s:
        each = decoder(temperature=temperature)
        known = dict(pair for batch in batches for pair in each.probabilities(batch, spans))
        return np.array([share for segment in spans for share in known[segment]])

    def loss(shares: Float64s) -> float:
        shares = shares.clip(1e-12, 1 - 1e-12)
        return -float(np.log(np.where(is_right, shares, 1 - shares)).mean())

    before = decoding.temperature
    after = round(math.exp(_lowest(lambda each: loss(confidence(math.exp(each))))), 6)
    first, last = confidence(before), confidence(after)
    return EntityCalibration(
        entities=len(is_right),
        temperature_before=before,
        temperature_after=after,
        ece_before=calibration_error(first, is_right),
        ece_after=calibration_error(last, is_right),
        nll_before=loss(first),
        nll_after=loss(last),
    )


def _lowest(function: Callable[[float], float]) -> float:
    """Find the minimum of a function of the logarithm of a temperature (golden-section search)."""
    low, high = math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    of_left, of_right = function(left), function(right)
    for _ in range(_STEPS):
        if of_left < of_right:
            high, right, of_right = right, left, of_left
            left = high - _GOLDEN * (high - low)
            of_left = function(left)
        else:
            low, left, of_left = left, right, of_right
            right = low + _GOLDEN * (high - low)
            of_right = function(right)
    return (low + high) / 2
