"""Scores of a language model on held-out texts."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from spacy.training import Example

from ..errors import Warnings
from .annotations import perplexity


def score_perplexity(
    examples: Iterable[Example], count_end: bool = True, **kwargs: Any
) -> dict[str, Any]:
    """Score all texts together, so that each character counts the same.

    `char_log_prob` is the mean log-probability of a character, by which training selects the best
    pipeline, `perplexity` is exp(−char_log_prob), and `oov_rate` is the share of unknown
    characters. Without texts, all are None, with a warning (W340).

    count_end: count the end of a text as one of its characters.
    """
    docs = [example.predicted for example in examples]
    docs = [doc for doc in docs if doc._.log_prob is not None]
    n_chars = sum(len(doc.text) for doc in docs)
    if not n_chars:
        warnings.warn(Warnings.W340, stacklevel=2)
        return {"char_log_prob": None, "perplexity": None, "oov_rate": None}
    log_prob = sum(doc._.log_prob for doc in docs) / (n_chars + count_end * len(docs))
    return {
        "char_log_prob": log_prob,
        "perplexity": perplexity(log_prob),
        "oov_rate": sum(doc._.oov_rate * len(doc.text) for doc in docs) / n_chars,
    }


def make_scorer() -> Callable[..., dict[str, Any]]:
    """`spacy-flat.perplexity_scorer.v1`: see `score_perplexity`."""
    return score_perplexity
