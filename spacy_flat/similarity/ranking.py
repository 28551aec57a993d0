"""What a search compares: the texts nearest by the cosine of sentence vectors, and by BM25.

Shapes: N texts, T terms.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..text.scripts import UNSPACED_RANGES
from ..util.arrays import Float32s, Ints
from .equality import same_width

if TYPE_CHECKING:
    from bm25s import BM25

_TERM = re.compile(rf"[{UNSPACED_RANGES}]|\d+|(?:(?![{UNSPACED_RANGES}])[^\W\d_])+")

# bm25s is imported where it is used: every `Language()` imports the components.


def terms_of(text: str) -> list[str]:
    """The characters of a Chinese text, its words in other scripts and its numbers, also those in
    one word (iphone15pro), without punctuation, case and width; [""] for a text without any."""
    return _TERM.findall(same_width(text).casefold()) or [""]


@dataclass(frozen=True)
class Candidates:
    """N texts by their terms, for BM25 (Robertson & Zaragoza, 2009) as in Lucene."""

    bm25: "BM25"

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> "Candidates":
        """texts: the terms of each, at least one; at least one text."""
        from bm25s import BM25

        terms: dict[str, int] = {}
        numbers = [[terms.setdefault(term, len(terms)) for term in own] for own in texts]
        bm25 = BM25()
        bm25.index((numbers, terms), create_empty_token=False, show_progress=False)
        return cls(bm25)

    def scores(self, terms: Sequence[str]) -> Float32s:
        """[N] scores of all texts for a query."""
        scores: Float32s = self.bm25.get_scores_from_ids(self.bm25.get_tokens_ids(terms))
        return scores


def best_by_turns(one: Float32s, other: Float32s, n: int) -> Ints:
    """[n] numbers of the highest scores of either kind, taken by turns."""
    by_turns = np.stack([_best_of(one, n), _best_of(other, n)], axis=1).ravel().tolist()
    return np.array(list(dict.fromkeys(by_turns))[:n], dtype=np.int64)


def _best_of(scores: Float32s, n: int) -> Ints:
    """[n] numbers of the highest scores, or of all, best first; of equal scores the first."""
    n = min(n, len(scores))
    chosen = np.flatnonzero(scores >= np.partition(scores, -n)[-n])
    best: Ints = chosen[np.argsort(-scores[chosen], kind="stable")[:n]]
    return best
