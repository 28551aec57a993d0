"""Fixed vectors of unknown keys."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

UNKNOWN_BITS = 14
UNKNOWNS = 1 << UNKNOWN_BITS


@lru_cache(maxsize=4)
def unknown_vectors(width: int) -> Tensor:
    """[1 + UNKNOWNS, width] normal numbers, the same on every machine; the first vector is 0."""
    import torch

    vectors = np.random.RandomState(0).standard_normal((1 + UNKNOWNS, width))
    vectors[0] = 0.0
    return torch.from_numpy(vectors).float()
