"""The extension attributes of Docs and tokens.

The others derive from `doc._.char_surprisal`, which goes by characters, whatever becomes of the
tokens, and is saved with the Doc's user data.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from spacy.tokens import Doc, Token

from .proofreading import Suspicious

if TYPE_CHECKING:
    from .model import TextScore

_KEY = "suspicious"  # in doc.user_data, as plain tuples


def set_scores(doc: Doc, score: TextScore, count_end: bool) -> None:
    """Set the scores of a Doc, unless it is empty.

    count_end: count the end of the text as one of its characters.
    """
    n_chars = len(score.surprisals) - 1
    if not n_chars:
        return
    counted = score.surprisals if count_end else score.surprisals[:-1]
    log_prob = -float(counted.sum(dtype=np.float64))
    doc._.log_prob = log_prob
    doc._.perplexity = perplexity(log_prob / len(counted))
    doc._.oov_rate = score.n_unknown / n_chars
    doc.user_data.pop(_KEY, None)
    if score.suspicious is not None:
        doc.user_data[_KEY] = tuple(tuple(each) for each in score.suspicious)
    doc._.char_surprisal = score.surprisals[:-1] / np.float32(math.log(2))


def perplexity(char_log_prob: float) -> float:
    """P(c₁ … c_N)^(−1/N), from the mean logarithm; infinite on overflow."""
    return math.inf if char_log_prob < -700 else math.exp(-char_log_prob)


def suspicious(doc: Doc) -> list[Suspicious] | None:
    """The suspicious characters of a Doc's text; None if they were not looked for."""
    found = doc.user_data.get(_KEY)
    return None if found is None else [Suspicious(*each) for each in found]


def token_surprisal(token: Token) -> float | None:
    """Bits of a token's characters and of the space after it; None if the text has no scores."""
    bits = token.doc._.char_surprisal
    if bits is None:
        return None
    return float(bits[token.idx : token.idx + len(token.text_with_ws)].sum(dtype=np.float64))


for _name in ("log_prob", "perplexity", "oov_rate", "char_surprisal"):
    if not Doc.has_extension(_name):
        Doc.set_extension(_name, default=None)
if not Doc.has_extension("suspicious"):
    Doc.set_extension("suspicious", getter=suspicious)
if not Token.has_extension("surprisal"):
    Token.set_extension("surprisal", getter=token_surprisal)
