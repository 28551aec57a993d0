"""Temperature scaling of the probabilities of entities (Guo et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import Errors
from ..text.units import EntitySpan
from ..util.arrays import Float64s
from ..util.calibration import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    FittedTemperature,
    calibration_error,
    reliability,
)
from .constraints import Constraints
from .decoding import Decoding, spans_of, trellises
from .spans import Annotation
from .trellis import Trellis
from .wishes import Wishes, shown_as

if TYPE_CHECKING:
    from .model import Emissions
    from .network import TaggingNetwork

_STEPS = 18  # 16 stop short of the limits
_GOLDEN = (math.sqrt(5) - 1) / 2
_FLOOR = 0.01  # of the curve's thresholds


@dataclass(frozen=True)
class EntityCalibration(FittedTemperature):
    """The effect of a new temperature on the entities found.

    ece: the expected calibration error. nll: the mean negative log-likelihood of their being right
    or wrong, in nats.
    reliability_before, reliability_after: [bins, 3], see `reliability`.
    curve: precision and recall by threshold, from the highest one on.
    """

    entities: int
    temperature_before: float
    temperature_after: float
    ece_before: float
    ece_after: float
    nll_before: float
    nll_after: float
    reliability_before: Float64s
    reliability_after: Float64s
    curve: Sequence[tuple[float, float, float]]


@dataclass(frozen=True)
class _Group:
    """A trellis of segments, and entities in them: (row, units of the segment, whether right)."""

    trellis: Trellis
    starts: Sequence[tuple[int, int]]  # number of the text, and where the segment starts in it
    entities: Sequence[tuple[int, EntitySpan, bool]]


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
    judge = _Judge(emissions, decoding, gold)
    groups = []
    constraints = Constraints(emissions.texts)
    for batch, scores in emissions.batches:
        asked = {row: Wishes() for row in range(len(batch.segments))}
        for rows, trellis in trellises(asked, batch, scores, network, decoding, constraints):
            starts = [(batch.segments[row].text, batch.segments[row].start) for row in rows]
            best = trellis.at(1.0)  # its paths are not kept
            local = [
                (number, span)
                for number in range(len(rows))
                for span in spans_of(best.paths(number)[0][1], decoding.tags)
            ]
            groups.append(_Group(trellis, starts, judge(starts, local)))
    is_right = np.array([right for group in groups for *_, right in group.entities], dtype=np.bool_)
    if not len(is_right):
        raise ValueError(Errors.F348.format(name=name))

    def confidence(temperature: float) -> Float64s:
        found = []
        for group in groups:
            trellis = group.trellis.at(temperature)
            found += [decoding.probability(trellis, row, span) for row, span, _ in group.entities]
        return np.array(found)

    def loss(temperature: float) -> float:
        shares = confidence(temperature).clip(1e-12, 1 - 1e-12)
        return -float(np.log(np.where(is_right, shares, 1 - shares)).mean())

    before = decoding.temperature
    after = round(math.exp(_lowest(lambda each: loss(math.exp(each)))), 6)
    first, last = confidence(before), confidence(after)
    wide = replace(decoding, thresholds=dict.fromkeys(decoding.labels, _FLOOR))
    ranked, judge = [], _Judge(emissions, decoding, gold)
    for group in groups:
        trellis = group.trellis.at(after)
        spans = [(row, s) for row in range(len(group.starts)) for s in wide.above(trellis, row)]
        for row, span, right in judge(group.starts, spans):
            ranked.append((wide.probability(trellis, row, span), right))
    return EntityCalibration(
        entities=len(is_right),
        temperature_before=before,
        temperature_after=after,
        ece_before=calibration_error(first, is_right),
        ece_after=calibration_error(last, is_right),
        nll_before=loss(before),
        nll_after=loss(after),
        reliability_before=reliability(first, is_right),
        reliability_after=reliability(last, is_right),
        curve=_curve(ranked, sum(len(each.spans) for each in gold)),
    )


class _Judge:
    """Decides which entities are right. An entity in two overlapping segments counts once."""

    def __init__(
        self, emissions: Emissions, decoding: Decoding, gold: Sequence[Annotation]
    ) -> None:
        self.texts, self.gold = emissions.texts, gold
        self.names = shown_as(decoding.labels)
        self.seen: set[tuple[int, EntitySpan]] = set()

    def __call__(
        self, starts: Sequence[tuple[int, int]], spans: Sequence[tuple[int, EntitySpan]]
    ) -> list[tuple[int, EntitySpan, bool]]:
        """Those of the spans (row, units of the segment) that the annotation can judge."""
        found = []
        for row, span in spans:
            number, start = starts[row]
            text, gold = self.texts[number], self.gold[number]
            whole = EntitySpan(span.start + start, span.end + start, self.names.get(span.label, ""))
            is_new = whole.label and (number, whole) not in self.seen
            self.seen.add((number, whole))
            for place in text.to_characters([whole] if is_new else []):
                for own in gold.judged([place], len(text.text)).values():
                    found.append((row, span, own in gold.spans))
        return found


def _lowest(function: Callable[[float], float]) -> float:
    """Find the minimum of a function of the logarithm of a temperature (golden-section search)."""
    low, high = math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE)
    values: dict[float, float] = {}
    for _ in range(_STEPS):
        inner = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        for each in inner:
            near = next((known for known in values if abs(known - each) < 1e-9), None)
            values[each] = function(each) if near is None else values[near]
        if values[inner[0]] < values[inner[1]]:
            high = inner[1]
        else:
            low = inner[0]
    return (low + high) / 2


def _curve(ranked: Sequence[tuple[float, bool]], n_gold: int) -> list[tuple[float, float, float]]:
    right, points = 0, []
    for count, (share, is_right) in enumerate(sorted(ranked, reverse=True), 1):
        right += is_right
        points.append((share, right / count, right / max(1, n_gold)))
    return points
