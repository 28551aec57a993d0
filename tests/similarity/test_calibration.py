"""`pipe.calibrate`, its temperature, and the threshold beside it."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from spacy.language import Language

from spacy_flat.similarity.calibration import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    best_threshold,
    errors_of,
    fit_calibration,
    fit_weights,
    typical_pairs,
)
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.pairs import join_pair
from spacy_flat.util.probabilities import with_before

from .conftest import PAIRS, LabelledPair, examples_of, re2

# The network is sure of all of these, and wrong of two.
UNSURE: list[LabelledPair] = [
    *PAIRS,
    ("怎么退款？", "如何退款", "different"),
    ("能开发票吗", "可以退货吗", "same"),
]
NONE = (1.0, 0.0, 0.0)  # no calibration before
TEMPERATURES = np.geomspace(MIN_TEMPERATURE, MAX_TEMPERATURE, 200).tolist()


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def loss(
    logits: NDArray[Any],
    cosines: NDArray[Any],
    gold: NDArray[Any],
    temperature: float,
    *more: float,
) -> float:
    """Of a calibration: on the pairs, and on twenty others, of which `NONE` was right."""
    others, other_cosines = typical_pairs(logits.shape[1], 1.0)
    weight, bias = more or (0.0, 0.0)

    def logs(logits: NDArray[Any], cosines: NDArray[Any]) -> NDArray[Any]:
        logits = logits.astype(float) / temperature
        logits[:, -1] += weight * cosines + bias
        return np.log(softmax(logits) + 1e-300)

    of_pairs = -sum(row[right] for row, right in zip(logs(logits, cosines), gold, strict=True))
    of_others = softmax(others) * logs(others, other_cosines)
    return float(of_pairs - 20 * of_others.sum(axis=1).mean())


def alone(found: tuple[float, float, float], n: int) -> tuple[float, float, float]:
    """The best for the pairs and the twenty others, which was averaged with `NONE`."""
    slope, *others = np.array([1 / found[0] - 1, *found[1:]]) * (n + 20) / n
    return (1 / (1 + slope), *others)


def fit_temperature(logits: NDArray[Any], gold: NDArray[Any]) -> float:
    """Of more than two classes, where nothing else is fitted."""
    n, k = logits.shape
    found = fit_calibration(logits, np.ones(n), np.zeros(k), gold, NONE)
    assert found[1:] == (0, 0)
    return alone(found, n)[0]


def fit_margins(
    margins: NDArray[Any],
    cosines: NDArray[Any],
    gold: NDArray[Any],
    before: tuple[float, float, float] = NONE,
) -> tuple[float, float, float]:
    """Of two classes."""
    logits = np.stack([np.zeros_like(margins), margins], axis=1)
    return fit_calibration(logits, cosines, np.array([0.0, 1.0]), gold.astype(int), before)


# What is fitted


def test_no_other_temperature_is_better() -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 3, (50, 3)).astype(np.float32)
    gold = np.where(rng.random(50) < 0.7, logits.argmax(axis=1), rng.integers(0, 3, 50))
    found = fit_temperature(logits, gold)

    fitted = softmax(logits / found)
    of_gold = fitted[range(len(gold)), gold]
    assert errors_of(fitted, gold)[1] == pytest.approx(-np.log(of_gold).mean())
    best = loss(logits, 0 * gold, gold, found)
    assert best <= min(loss(logits, 0 * gold, gold, each) for each in TEMPERATURES) + 1e-5
    near = (loss(logits, 0 * gold, gold, each * found) for each in (0.9, 1.1))
    assert max(near) > best + 1e-3


@pytest.mark.parametrize("scale", [-1.0, 0.02, 1.0, 90.0])
def test_no_other_temperature_weight_and_bias_are_better(scale: float) -> None:
    rng = np.random.default_rng(2)
    margins, cosines = rng.normal(0, 1, 300), rng.uniform(0, 1, 300)
    gold = rng.random(300) < 1 / (1 + np.exp(2 - 2 * margins - 2 * cosines))
    pairs = np.stack([0 * margins, margins / scale], axis=1), cosines, gold.astype(int)
    found = alone(fit_margins(margins / scale, cosines, gold), len(gold))
    assert MIN_TEMPERATURE - 1e-3 <= found[0] <= MAX_TEMPERATURE + 1e-2
    assert found[1] >= 0
    others = [
        (temperature, weight, bias)
        for temperature in [*TEMPERATURES[::10], *found[0] * np.array([0.9, 1.0, 1.1])]
        for weight in [0.0, 1.0, 3.0, *found[1] + np.array([0.0, 0.1])]
        for bias in [-3.0, 0.0, 3.0, *found[2] + np.array([-0.1, 0.0, 0.1])]
        if MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE
    ]
    assert loss(*pairs, *found) <= min(loss(*pairs, *each) for each in others) + 1e-4


def test_no_other_threshold_is_right_more_often() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 40):
        for _ in range(20):
            found = rng.choice([0.0, 1e-8, 1e-7, 0.1, 0.45, 0.6, 0.7, 1 - 1e-8, 1.0], n)
            gold = rng.random(n) < rng.choice([0.2, 0.5, 0.9])
            best = best_threshold(found, gold)
            others = *np.linspace(0, 1, 101), 5e-9, 5e-8, 1 - 5e-9
            right = [((found >= each) == gold).sum() for each in others]
            assert ((found >= best) == gold).sum() == max(right)
    assert best_threshold(np.array([0.4, 0.6]), np.array([False, True])) == 0.5


def test_the_cosine_counts_where_it_helps() -> None:
    rng = np.random.default_rng(4)
    margins, cosines = rng.normal(0, 2, 20_000), rng.uniform(-1, 1, 20_000)
    drawn = rng.logistic(size=len(margins))
    gold = margins / 3 + 4 * cosines - 1 > drawn
    assert fit_margins(margins, cosines, gold) == pytest.approx((3, 4, -1), rel=0.1)
    without = fit_margins(margins, -cosines, gold)
    assert without[1] == 0  # alike texts are never less similar for it
    temperature, weight, bias = fit_margins(margins, cosines, 3 * cosines > drawn)
    assert temperature > 0.95 * MAX_TEMPERATURE  # and the rest is fitted to it
    assert (weight, bias) == pytest.approx((3, 0), abs=0.2)


def test_newtons_method_converges_from_far_away() -> None:
    """Full steps would overshoot where the slope is flat."""
    targets = np.eye(2)[(np.arange(1000) < 3).astype(int)]
    features = np.stack([np.zeros((1000, 2)), np.tile([1.0, 10.0], (1000, 1))], axis=1)
    found, given = fit_weights(features, targets, (-np.inf, 1.0), (np.inf, 1.0))
    assert given == 1
    assert found == pytest.approx(math.log(3 / 997) - 10, abs=1e-4)


@pytest.mark.parametrize("before", [NONE, (2.4, 10.5, -8.6)])
def test_a_few_easy_pairs_change_little(before: tuple[float, float, float]) -> None:
    """The best for them alone would be probabilities of 0 and 1."""
    rng = np.random.default_rng(5)

    def probability(margins: Any, cosines: Any, fitted: tuple[float, float, float]) -> Any:
        return 1 / (1 + np.exp(-margins / fitted[0] - fitted[1] * cosines - fitted[2]))

    grid = np.meshgrid(np.linspace(-15, 15, 31), np.linspace(0.3, 1, 8))
    for number in (2, 2, 2, 5, 10):
        margins, cosines = rng.normal(0, 8, 1000), rng.uniform(0.3, 1, 1000)
        gold = np.arange(1000) % 2
        is_easy = np.abs(probability(margins, cosines, before) - gold) < 0.1
        margins, cosines, gold = (each[is_easy][:number] for each in (margins, cosines, gold))
        after = fit_margins(margins, cosines, gold, before)
        assert np.abs(probability(*grid, after) - probability(*grid, before)).max() < 0.1


@pytest.mark.parametrize("before", [NONE, (2.4, 10.5, -8.6)])
@settings(max_examples=100, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.floats(-1000, 1000), st.floats(0, 1), st.booleans()), min_size=1, max_size=30
    )
)
def test_no_pair_moves_the_temperature_far(
    before: tuple[float, float, float], pairs: list[tuple[float, float, bool]]
) -> None:
    """Right or wrong ones, with any logits."""
    margins, cosines, gold = map(np.array, zip(*pairs, strict=True))
    found = fit_margins(margins, cosines, gold, before)
    assert abs(math.log(found[0] / before[0])) <= math.log1p(len(pairs) / 20) + 1e-5


def test_many_pairs_decide() -> None:
    rng = np.random.default_rng(6)
    margins, cosines = rng.normal(0, 8, 500), rng.uniform(0, 1, 500)
    gold = margins / 3 > rng.logistic(size=500)
    losses = [
        loss(np.stack([0 * margins, margins], 1), cosines, gold.astype(int), *each)
        for each in (NONE, fit_margins(margins, cosines, gold), (3.0, 0.0, 0.0))
    ]
    assert losses[1] < losses[2] + 1 < losses[0] - 50


def test_only_the_proportions_of_shares_count() -> None:
    rng = np.random.default_rng(7)
    logits, cosines, gold = rng.normal(0, 2, (10, 2)), rng.random(10), rng.integers(0, 2, 10)
    pairs = np.tile(logits, (2, 1)), np.tile(cosines, 2), np.array([0.0, 1.0]), np.tile(gold, 2)
    wanted = pytest.approx(fit_calibration(*pairs, NONE), abs=1e-5)
    assert fit_calibration(*pairs, NONE, np.repeat([0.0, 5.0], 10)) == wanted


def test_the_threshold_stays_unless_many_pairs_say_otherwise() -> None:
    found, gold = np.array([0.1, 0.6, 0.95]), np.array([False, True, True])
    assert best_threshold(found[[0, 2]], gold[[0, 2]], 0.8249999999) == 0.825
    assert best_threshold(found, with_before(gold, found >= 0.825), 0.825) == 0.825
    many = [np.tile(each, 10) for each in (found, gold)]
    assert best_threshold(many[0], with_before(many[1], many[0] >= 0.825), 0.825) < 0.6


# In a pipeline


def cosines(pipe: PairClassifier, pairs: list[tuple[str, str]]) -> list[float]:
    """One by one, from an index."""
    vectors = [pipe.index([left, right])._vectors for left, right in pairs]
    return [float(own[0] @ own[-1]) for own in vectors]


def test_the_cosine_is_added_to_the_log_odds(trained_pairs: Language) -> None:
    """In each way to compare, and only if there are two classes."""
    nlp = copy.deepcopy(trained_pairs)
    pipe = re2(nlp)
    pairs = [pair[:2] for pair in PAIRS[:-1]] + [("？", "！"), ("退款", "退款")]
    before = pipe.predict_pairs(pairs)
    pipe.cosine = 2.0
    after = pipe.predict_pairs(pairs)
    odds = [np.log(each[:-1, 1] / each[:-1, 0]) for each in (before, after)]
    wanted = 2 * np.array(cosines(pipe, pairs[:-1]))
    np.testing.assert_allclose(odds[1] - odds[0], wanted, atol=0.01)
    assert np.abs(wanted).max() > 0.5
    assert after[-1].tolist() == [0, 1]  # equal texts
    docs = list(nlp.pipe([join_pair(*pair) for pair in pairs]))
    found = [[doc.cats[label] for label in pipe.labels] for doc in docs]
    np.testing.assert_allclose(found, after, atol=1e-5)
    assert len(pipe.predict_pairs([])) == 0


def test_it_counts_from_then_on(trained_pairs: Language) -> None:
    nlp = copy.deepcopy(trained_pairs)
    pipe, pair = re2(nlp), PAIRS[0][:2]
    before = pipe.predict_pairs([pair])
    report = pipe.calibrate(examples_of(nlp, UNSURE))
    after = pipe.predict_pairs([pair])
    (cosine,) = cosines(pipe, [pair])
    added = report.bias + report.cosine * cosine
    np.testing.assert_allclose(
        (np.log(after[0, 1] / after[0, 0]) - added) * report.temperature_after,
        np.log(before[0, 1] / before[0, 0]),
        rtol=1e-3,
    )
    again = pipe.calibrate(examples_of(nlp, UNSURE))
    assert again.temperature_before == report.temperature_after
    assert again.temperature_after == pipe.temperature
