"""The order of what a search finds: the network, embeddings and BM25 in one logistic regression.

Shapes: B candidates of a query, F features.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..util.arrays import Bools, Float32s, Float64s, Ints
from .calibration import DIGITS, fit_logistic

# In this order: the network's log-odds; the cosine of the sums of embeddings; BM25 as a share of
# what a text with all terms of the query would have; and one.
FEATURES = ("network", "cosine", "bm25", "one")
DEFAULT = (0.3, 3.0, 10.0, -8.0)  # for a pipeline that none were fitted for
MAX_ODDS = 12.0  # of the network, as a logarithm


def features_of(similarities: Float32s, cosines: Float32s, shares: Float64s) -> Float64s:
    """[B, F] from [B] similarities by the network, cosines, and shares of BM25."""
    given = np.clip(similarities.astype(np.float64), 1e-9, 1 - 1e-9)
    odds = np.clip(np.log(given / (1 - given)), -MAX_ODDS, MAX_ODDS)
    return np.stack([odds, cosines, shares, np.ones(len(odds))], axis=1)


def probabilities(features: Float64s, weights: Sequence[float]) -> Float64s:
    """[B, F] → [B]"""
    found: Float64s = 1 / (1 + np.exp(-(features @ np.array(weights))))
    return found


class SearchExamples(NamedTuple):
    """Candidates of some queries.

    features: [B, F]; gold: [B] whether each is right; starts: [B] whether it is the first row of
        its query; answered: [B] whether its query has an answer.
    """

    features: Float64s
    gold: Bools
    starts: Bools
    answered: Bools

    @property
    def shares(self) -> Float64s:
        """[B] how much the query of a row counts: half of all for those with an answer."""
        counts = np.array([np.sum(self.starts & (self.answered == kind)) for kind in (0, 1)])
        found: Float64s = 1 / (counts[self.answered.astype(int)] * np.count_nonzero(counts))
        return found


def fit_ranking(
    examples: Sequence[SearchExamples], features: Sequence[str] = FEATURES
) -> list[float]:
    """Weights that rank correct answers first and reject queries without an answer; 0 for features
    that aren't named, and for those that would count against a candidate.

    Each of the examples counts the same, and in each queries with an answer count as much as those
    without one. The weights are scaled so that the first candidate's probability is that of its
    being right.
    """
    rows = np.concatenate([each.features for each in examples])
    gold = np.concatenate([each.gold for each in examples])
    starts = np.concatenate([each.starts for each in examples])
    shares = np.concatenate([each.shares for each in examples]) * starts.sum()
    weights = _fit_positive(rows, gold, shares, features)
    scores = rows @ weights
    first = _first_places(scores, starts)
    if len(set(gold[first].tolist())) == 2:
        margins = np.stack([scores[first], np.ones(len(first))], axis=1)
        scale, shift = fit_logistic(margins, gold[first], ridge=1e-3, shares=shares[first])
        if scale > 0:
            weights *= scale
            weights[FEATURES.index("one")] += shift
    return [round(weight, DIGITS) for weight in weights.tolist()]


def _fit_positive(
    rows: Float64s, gold: Bools, shares: Float64s, features: Sequence[str]
) -> Float64s:
    """The weights [F] of a logistic regression, without features whose weight would be negative."""
    columns = [FEATURES.index(name) for name in features]
    weights = np.zeros(len(FEATURES))
    weights[columns] = fit_logistic(rows[:, columns], gold, ridge=1e-3, shares=shares)
    others = [name for name in features if name != "one"]
    worst = min(others, key=lambda name: weights[FEATURES.index(name)], default="one")
    if worst == "one" or weights[FEATURES.index(worst)] >= 0:
        return weights
    return _fit_positive(rows, gold, shares, [name for name in features if name != worst])


def _first_places(scores: Float64s, starts: Bools) -> Ints:
    """The places of the highest score of each query, of scores [B]."""
    queries = np.cumsum(starts)
    order = np.lexsort((scores, queries))
    is_last = np.append(np.diff(queries[order]) != 0, True)
    first: Ints = order[is_last]
    return first
