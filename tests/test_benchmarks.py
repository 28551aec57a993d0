"""What the benchmarks fit is fitted to other pairs than those that are scored."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from fitted import Predictions, accuracy, best_threshold, f_scores, fitted_scores

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def drawn(n: int, seed: int) -> Predictions:
    """Pairs of which few are the same, and a system that knows them but is too sure."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(-1.2, 1.5, n)
    gold = rng.random(n) < 1 / (1 + np.exp(-logits))
    return Predictions(gold, 1 / (1 + np.exp(-3 * logits)))


def measured(predictions: Predictions, threshold: float) -> tuple[float, float]:
    gold, chosen = predictions.gold, predictions.found >= threshold
    f = 2 * (gold & chosen).sum() / max(1, gold.sum() + chosen.sum())
    return float((gold == chosen).mean()), float(f)


@pytest.mark.parametrize("digits", [1, 6])
def test_no_other_threshold_is_better(digits: int) -> None:
    gold, found = drawn(300, seed=0)
    some = Predictions(gold, found.round(digits))  # rounded, many are equal
    for number, measure in enumerate((accuracy, f_scores)):
        best = measured(some, best_threshold(some, measure))[number]
        grid = np.linspace(0, 1.01, 500).tolist()
        assert best == max(measured(some, each)[number] for each in [*grid, *some.found.tolist()])


def test_where_nothing_is_the_same() -> None:
    some = Predictions(np.zeros(5, np.bool_), np.linspace(0, 1, 5))
    assert measured(some, best_threshold(some, accuracy))[0] == 1.0


def test_fitted_to_dev_and_scored_on_test() -> None:
    dev, test = drawn(4000, seed=0), drawn(4000, seed=1)
    found = fitted_scores({"dev": dev, "test": test})
    assert found["on"] == "test"
    assert found["f"] == pytest.approx(measured(test, best_threshold(dev, f_scores))[1])
    assert found["acc"] == pytest.approx(measured(test, best_threshold(dev, accuracy))[0])
    assert found["f"] > measured(test, 0.5)[1] + 0.03
    assert found["ece"] < 0.02 < 0.1 < found["ece_before"]


def test_of_dev_alone_each_half_is_scored_by_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    dev = drawn(2000, seed=2)
    even, odd = dev.every_second(0), dev.every_second(1)
    found = fitted_scores({"dev": dev})
    assert found["on"] == "halves of dev"
    chosen = [to.found >= best_threshold(of, f_scores) for of, to in ((even, odd), (odd, even))]
    joined: Any = Predictions(
        np.concatenate([odd.gold, even.gold]), np.concatenate(chosen).astype(float)
    )
    assert found["f"] == pytest.approx(measured(joined, 0.5)[1])
    assert found["ece"] < found["ece_before"] / 3


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_can_be_imported(path: Path) -> None:
    runpy.run_path(str(path), run_name="imported")
