"""The texts with most in common with a query, by BM25."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..util.arrays import Float32s, Ints
from ..util.characters import UNSPACED_RANGES
from .equality import same_width

_TERM = re.compile(rf"[{UNSPACED_RANGES}]|\d+|(?:(?![{UNSPACED_RANGES}])[^\W\d_])+")

ARRAYS = ("bm25.starts", "bm25.texts", "bm25.weights")
K1, B = 1.5, 0.75  # of BM25


def terms_of(text: str) -> list[str]:
    """The characters of a Chinese text, its words in other scripts and its numbers, also those in
    one word (iphone15pro), without punctuation, case and width; [""] for a text without any."""
    return _TERM.findall(same_width(text).casefold()) or [""]


@dataclass(frozen=True)
class Candidates:
    """N texts by their terms, for BM25 (Robertson & Zaragoza, 2009) as in Lucene.

    Shapes: T terms, E pairs of a term and a text that has it, sorted by terms.
    """

    terms: dict[str, int]  # numbers
    starts: Ints  # [T + 1] the first pair of each term
    texts: Ints  # [E]
    weights: Float32s  # [E] what a text scores for a term of the query
    n_texts: int

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> "Candidates":
        """texts: the terms of each, at least one; at least one text."""
        terms: dict[str, int] = {}
        counted = [Counter(terms.setdefault(term, len(terms)) for term in own) for own in texts]
        sizes = np.array([len(own) for own in counted])
        owners = np.repeat(np.arange(len(counted)), sizes)
        numbers = np.array([number for own in counted for number in own])
        counts = np.array([count for own in counted for count in own.values()])
        lengths = np.bincount(owners, counts)
        norms = K1 * (1 - B + B * lengths / lengths.mean())
        n_with = np.bincount(numbers)
        idf = np.log1p((len(counted) - n_with + 0.5) / (n_with + 0.5))
        weights = idf[numbers] * counts / (counts + norms[owners])
        order = np.argsort(numbers, kind="stable")
        starts = np.concatenate([[0], np.cumsum(n_with)])
        weights = weights[order].astype(np.float32)
        return cls(terms, starts, owners[order], weights, len(counted))

    @classmethod
    def restore(
        cls, terms: Sequence[str], arrays: Mapping[str, NDArray[Any]], n_texts: int
    ) -> "Candidates":
        """From `terms` and `arrays` of this many texts."""
        numbers = {term: number for number, term in enumerate(terms)}
        starts, owners, weights = (arrays[name] for name in ARRAYS)
        return cls(numbers, starts, owners, weights, n_texts)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return dict(zip(ARRAYS, (self.starts, self.texts, self.weights), strict=True))

    def scores(self, terms: Iterable[str]) -> Float32s:
        """[N] scores of all texts for a query."""
        scores = np.zeros(self.n_texts, dtype=np.float32)
        for term, count in Counter(terms).items():
            if (number := self.terms.get(term)) is not None:
                own = slice(self.starts[number], self.starts[number + 1])
                scores[self.texts[own]] += count * self.weights[own]  # each text once
        return scores

    @cached_property
    def _max_weights(self) -> Float32s:
        """[T] the highest weight of each term in a text."""
        highest: Float32s = np.maximum.reduceat(self.weights, self.starts[:-1])
        return highest

    def max_score(self, terms: Iterable[str]) -> float:
        """About the score of a text that has all of these terms. Unknown terms count as rare."""
        rare, numbers = float(self._max_weights.max()), map(self.terms.get, terms)
        return sum(rare if n is None else float(self._max_weights[n]) for n in numbers)


def best_of(scores: Float32s, n: int) -> Ints:
    """[n] numbers of the highest scores, best first, or of all if there are fewer. Of equal scores
    the first count."""
    n = min(n, len(scores))
    chosen = np.flatnonzero(scores >= np.partition(scores, -n)[-n])
    best: Ints = chosen[np.argsort(-scores[chosen], kind="stable")[:n]]
    return best


def best_by_turns(one: Float32s, other: Float32s, n: int) -> Ints:
    """[n] numbers of the highest scores of either kind, taken by turns."""
    by_turns = np.stack([best_of(one, n), best_of(other, n)], axis=1).ravel().tolist()
    return np.array(list(dict.fromkeys(by_turns))[:n], dtype=np.int64)
