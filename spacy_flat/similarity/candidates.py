"""What a search ranks: the texts that have most in common with the query, by BM25."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text.units import Ints

if TYPE_CHECKING:
    from bm25s import BM25

# bm25s is imported where it is used: every `Language()` imports the components.

# Han and kana, which are written without spaces.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TERM = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\w)+")

ARRAYS = ("data", "indices", "indptr")  # of bm25s, a sparse matrix of texts and terms


def terms_of(text: str) -> list[str]:
    """The characters of a Chinese text, and its words in other scripts. Case and width do not
    matter; punctuation is left out. A text that has nothing else has the term ""."""
    return _TERM.findall(unicodedata.normalize("NFKC", text).casefold()) or [""]


@dataclass(frozen=True)
class Candidates:
    """Texts by their terms, for BM25 (Robertson & Zaragoza, 2009) in the form of Lucene."""

    bm25: "BM25"

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> "Candidates":
        """texts: the terms of each, at least one; there is at least one text."""
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
        """From `terms` and `arrays`, for so many texts."""
        from bm25s import BM25

        bm25 = BM25()
        bm25.scores = {**{name: arrays[name] for name in ARRAYS}, "num_docs": n_texts}
        bm25.vocab_dict = {term: number for number, term in enumerate(terms)}
        bm25.nonoccurrence_array = None
        return cls(bm25)

    @property
    def terms(self) -> list[str]:
        """The terms of all texts."""
        return list(self.bm25.vocab_dict)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The texts that have each term, and how much it counts in them."""
        return {name: self.bm25.scores[name] for name in ARRAYS}

    def best(self, terms: Sequence[str], n: int) -> Ints:
        """[n] numbers of the texts that have most in common with a query, or of all where there are
        fewer, ascending. Of texts with equal scores the first are taken."""
        scores = self.bm25.get_scores_from_ids(self.bm25.get_tokens_ids(terms))
        n = min(n, len(scores))
        least = np.partition(scores, -n)[-n]
        chosen = np.flatnonzero(scores >= least)
        best: Ints = np.sort(chosen[np.argsort(-scores[chosen], kind="stable")[:n]])
        return best
