"""Scores of texts: what Docs get, and those of an evaluation."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..util.arrays import Float32s
from .featuriser import UNKNOWN, CharFeaturiser
from .model import CharLMModel, network_of
from .ngrams import N_BEFORE
from .proofreading import Suspicious

_KEY = "suspicious"  # in doc.user_data, as plain tuples


class TextScore(NamedTuple):
    """The scores of a text.

    surprisals: [C + 1] −ln P of each character given those before it, and of the end of the text.
    n_unknown: its unknown characters.
    suspicious: characters that may be wrong; None if they were not looked for.
    """

    surprisals: Float32s
    n_unknown: int
    suspicious: list[Suspicious] | None = None


def score_texts(model: CharLMModel, docs: list[Doc]) -> list[TextScore]:
    """Score texts by the network, or by the mean of its and the n-grams' probabilities."""
    predictions, network = model.predict(docs), network_of(model)
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    # Texts follow one another, each between two marks, as in a piece's `places`.
    starts = np.cumsum([0, *(len(doc.text) + 2 for doc in docs)])
    surprisals = np.zeros(starts[-1], dtype=np.float32)
    is_unknown = np.zeros(starts[-1], dtype=np.bool_)
    for piece, scores in predictions:
        surprisals[piece.places] = network.surprisals(scores, piece.targets).cpu().numpy()
        is_unknown[piece.places] = piece.targets == UNKNOWN
    found = []
    for doc, start, end in zip(docs, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        keys = featuriser.marked(doc.text, N_BEFORE)
        own = -network.averaged(-surprisals[start + 1 : end], keys).astype(np.float32)
        found.append(TextScore(own, int(is_unknown[start:end].sum())))
    return found


def set_scores(doc: Doc, score: TextScore) -> None:
    """Set the scores of a Doc, unless it is empty. The end of the text counts as a character."""
    n_chars = len(score.surprisals) - 1
    if not n_chars:
        return
    log_prob = -float(score.surprisals.sum(dtype=np.float64))
    doc._.log_prob = log_prob
    doc._.perplexity = perplexity(log_prob / (n_chars + 1))
    doc._.oov_rate = score.n_unknown / n_chars
    doc.user_data.pop(_KEY, None)
    if score.suspicious is not None:
        doc.user_data[_KEY] = tuple(map(tuple, score.suspicious))
    doc._.char_surprisal = score.surprisals[:-1] / np.float32(math.log(2))


def perplexity(char_log_prob: float) -> float:
    """P(c₁ … c_N)^(−1/N), from the mean logarithm; infinite on overflow."""
    return math.inf if char_log_prob < -700 else math.exp(-char_log_prob)


def suspicious(doc: Doc) -> list[Suspicious] | None:
    """The suspicious characters of a Doc's text; None if they were not looked for."""
    found = doc.user_data.get(_KEY)
    return None if found is None else [Suspicious(*each) for each in found]


def score_perplexity(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """Score all texts together, so that each character counts the same, and each end of a text.

    `char_log_prob` is the mean log-probability of a character, by which training selects the best
    pipeline, `perplexity` is exp(−char_log_prob), and `oov_rate` is the share of unknown
    characters. Without texts, all are None.
    """
    docs = [example.predicted for example in examples]
    docs = [doc for doc in docs if doc._.log_prob is not None]
    n_chars = sum(len(doc.text) for doc in docs)
    if not n_chars:
        return {"char_log_prob": None, "perplexity": None, "oov_rate": None}
    log_prob = sum(doc._.log_prob for doc in docs) / (n_chars + len(docs))
    return {
        "char_log_prob": log_prob,
        "perplexity": perplexity(log_prob),
        "oov_rate": sum(doc._.oov_rate * len(doc.text) for doc in docs) / n_chars,
    }


def make_scorer() -> Callable[..., dict[str, Any]]:
    """`spacy-flat.perplexity_scorer.v1`: see `score_perplexity`."""
    return score_perplexity


for _name in ("log_prob", "perplexity", "oov_rate", "char_surprisal"):
    Doc.set_extension(_name, default=None, force=True)
Doc.set_extension("suspicious", getter=suspicious, force=True)
