"""Fixed vectors of unknown keys."""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

UNKNOWN_BITS = 14
UNKNOWNS = 1 << UNKNOWN_BITS


@lru_cache(maxsize=4)
def unknown_vectors(width: int) -> Tensor:
    """[1 + UNKNOWNS, width] normal numbers, the same on every machine; the first vector is 0."""
    vectors = np.random.RandomState(0).standard_normal((1 + UNKNOWNS, width))
    vectors[0] = 0.0
    return torch.from_numpy(vectors).float()
