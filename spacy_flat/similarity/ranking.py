"""The order of what a search finds: BM25, the network, and lengths in one logistic regression.

Shapes: B candidates of a query, F features.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..util.arrays import Float32s, Float64s, Ints
from .calibration import DIGITS, fit_logistic
from .candidates import Candidates

if TYPE_CHECKING:
    from .index import TextIndex


# In this order: the network's log-odds; BM25 as a share of what a text with all terms of the query
# would have, of what the candidate has for its own terms, and of what the best candidate has; the
# length of the shorter text as a share of the longer one's; and one.
FEATURES = ("network", "query", "text", "best", "length", "one")
NETWORK_ONLY = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
DEFAULT = (0.2, 2.5, 2.0, 9.5, 1.0, -14.5)  # for a pipeline that none were fitted for
MOST_ODDS = 12.0  # of the network, as a logarithm
TRIED = 20  # candidates of each query, in fitting


def features_of(
    query: str, texts: Sequence[str], similarities: Float32s, shares: Sequence[Float64s]
) -> Float64s:
    """[B, F]; similarities: [B] by the network; shares: see `bm25_shares`."""
    given = np.clip(similarities.astype(np.float64), 1e-9, 1 - 1e-9)
    odds = np.clip(np.log(given / (1 - given)), -MOST_ODDS, MOST_ODDS)
    lengths = np.array([len(text) for text in texts]) + 1.0
    ratio = np.minimum(lengths, len(query) + 1) / np.maximum(lengths, len(query) + 1)
    return np.stack([odds, *shares, ratio, np.ones(len(texts))], axis=1)


def bm25_shares(
    candidates: Candidates, terms: Sequence[str], found: Ints, scores: Float32s
) -> list[Float64s]:
    """The scores [B] of the texts found as shares of three others."""
    most = candidates.most(terms), candidates.own[found], scores.max(initial=0.0)
    return [scores / np.maximum(each, 1e-9) for each in most]


def probabilities(features: Float64s, weights: Sequence[float]) -> Float64s:
    """[B, F] → [B]"""
    found: Float64s = 1 / (1 + np.exp(-(features @ np.array(weights))))
    return found


def fit_ranking(index: "TextIndex", same: Mapping[str, set[str]], most: int) -> list[float]:
    """The weights that find the texts that mean the same, and nothing for other queries.

    index: of all texts.
    same: of each text to search for, the texts that mean the same; it is not to find itself.
    most: texts to search for, at even distances.
    """
    queries = list(same)
    rows, gold = [], []
    for query in queries[:: max(1, len(queries) // most)]:
        found, features = index.features(query, TRIED)
        others = [number for number, text in enumerate(found) if text != query]
        features = features[others]
        best = FEATURES.index("best")
        features[:, best] /= max(1e-9, features[:, best].max(initial=0.0))
        rows.append(features)
        gold += [found[number] in same[query] for number in others]
    weights = fit_logistic(np.concatenate(rows), np.array(gold), ridge=1e-3)
    return [round(weight, DIGITS) for weight in weights.tolist()]
