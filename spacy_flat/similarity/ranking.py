"""The order of what a search finds: the network, embeddings and BM25 in one logistic regression.

Shapes: B candidates of a query, F features.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..util.arrays import Bools, Float32s, Float64s
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


class SearchedQuery(NamedTuple):
    """The candidates of a query."""

    features: Float64s  # [B, F]
    gold: Bools  # [B] whether each is right
    is_answered: bool  # whether any text is right


def fit_ranking(
    faqs: Sequence[Sequence[SearchedQuery]], features: Sequence[str] = FEATURES
) -> list[float]:
    """Weights that rank correct answers first and reject queries without an answer; 0 for features
    that aren't named, and for those that would count against a candidate.

    Each FAQ counts the same, and in each queries with an answer count as much as those without one.
    The weights are scaled so that the first candidate's probability is that of its being right.
    """
    queries = [query for faq in faqs for query in faq]
    shares = np.concatenate([shares_of(faq) for faq in faqs]) * len(queries)
    counts = [len(query.gold) for query in queries]
    rows = np.concatenate([query.features for query in queries])
    gold = np.concatenate([query.gold for query in queries])
    weights = fit_positive(rows, gold, shares.repeat(counts), features)
    best = [np.argmax(query.features @ weights) for query in queries]
    first = np.cumsum([0, *counts[:-1]]) + best
    if len(set(gold[first].tolist())) == 2:
        margins = np.stack([rows[first] @ weights, np.ones(len(first))], axis=1)
        scale, shift = fit_logistic(margins, gold[first], ridge=1e-3, shares=shares)
        if scale > 0:
            weights *= scale
            weights[FEATURES.index("one")] += shift
    return [round(weight, DIGITS) for weight in weights.tolist()]


def shares_of(faq: Sequence[SearchedQuery]) -> Float64s:
    """[queries] how much each counts: those with an answer as much as those without one."""
    is_answered = np.array([query.is_answered for query in faq])
    counts = np.array([(~is_answered).sum(), is_answered.sum()])
    shares: Float64s = 1 / (counts[is_answered.astype(int)] * np.count_nonzero(counts))
    return shares


def fit_positive(
    rows: Float64s, gold: Bools, shares: Float64s, features: Sequence[str]
) -> Float64s:
    """The weights [F] of a logistic regression, without features whose weight would be negative."""
    columns = [FEATURES.index(name) for name in features]
    weights = np.zeros(len(FEATURES))
    weights[columns] = fit_logistic(rows[:, columns], gold, ridge=1e-3, shares=shares)
    worst = min(features, key=lambda name: weights[FEATURES.index(name)] if name != "one" else 0)
    if weights[FEATURES.index(worst)] >= 0 or worst == "one":
        return weights
    return fit_positive(rows, gold, shares, [name for name in features if name != worst])
