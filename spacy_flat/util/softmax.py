"""Log-softmax of arrays, without torch."""

import numpy as np

from .arrays import Floats


def log_softmax(logits: Floats) -> Floats:
    """[N, K] → [N, K]"""
    shifted = logits - logits.max(axis=1, keepdims=True)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised
