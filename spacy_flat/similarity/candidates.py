"""The texts with most in common with a query, by BM25."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text.characters import UNSPACED_RANGES
from ..util.arrays import Float32s, Ints

if TYPE_CHECKING:
    from bm25s import BM25

# bm25s is imported where it is used: every `Language()` imports the components.

_TERM = re.compile(rf"[{UNSPACED_RANGES}]|\d+|(?:(?![{UNSPACED_RANGES}])[^\W\d_])+")

ARRAYS = ("data", "indices", "indptr")  # of bm25s, a sparse matrix of texts and terms


def terms_of(text: str) -> list[str]:
    """The characters of a Chinese text, its words in other scripts and its numbers, also those in
    one word (iphone15pro), without punctuation, case and width; [""] for a text without any."""
    return _TERM.findall(unicodedata.normalize("NFKC", text).casefold()) or [""]


@dataclass(frozen=True)
class Candidates:
    """Texts by their terms, for BM25 (Robertson & Zaragoza, 2009) as in Lucene."""

    bm25: "BM25"

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> "Candidates":
        """texts: the terms of each, at least one; at least one text."""
        from bm25s import BM25

        vocabulary: dict[str, int] = {}
        numbers = [[vocabulary.setdefault(t, len(vocabulary)) for t in terms] for terms in texts]
        bm25 = BM25()
        bm25.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
        return cls(bm25)

    @classmethod
    def restore(
        cls, terms: Sequence[str], arrays: Mapping[str, NDArray[Any]], n_texts: int
    ) -> "Candidates":
        """From `terms` and `arrays` of this many texts."""
        from bm25s import BM25

        bm25 = BM25()
        bm25.scores = {**{name: arrays[name] for name in ARRAYS}, "num_docs": n_texts}
        bm25.vocab_dict = {term: number for number, term in enumerate(terms)}
        bm25.nonoccurrence_array = None
        return cls(bm25)

    @property
    def terms(self) -> list[str]:
        return list(self.bm25.vocab_dict)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weight of each term in each text."""
        return {name: self.bm25.scores[name] for name in ARRAYS}

    def scores(self, terms: Sequence[str]) -> Float32s:
        """[N] scores of all texts for a query."""
        scores: Float32s = self.bm25.get_scores_from_ids(self.bm25.get_tokens_ids(terms))
        return scores

    @cached_property
    def _most(self) -> dict[str, float]:
        """The highest weight of each term in a text; "" has that of any."""
        scores = self.bm25.scores
        most = np.maximum.reduceat(scores["data"], scores["indptr"][:-1]).tolist()
        return {**dict(zip(self.terms, most, strict=True)), "": max(most)}

    def most(self, terms: Sequence[str]) -> float:
        """About the score of a text that has all of these terms. Unknown terms count as rare."""
        return sum(self._most.get(term, self._most[""]) for term in terms)


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
