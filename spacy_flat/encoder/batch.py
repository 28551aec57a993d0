"""What an encoder reads: windows of texts as padded numbers.

Shapes: B windows, C characters with a mark before and one behind.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..text.units import Ints


@dataclass(frozen=True)
class WindowBatch:
    """Some windows as numbers."""

    keys: Ints  # [B, C] of characters and marks
    present: NDArray[np.bool_]  # [B, C] False for padding

    @property
    def inner(self) -> NDArray[np.bool_]:
        """[B, C] what is neither padding nor a mark."""
        lengths = self.present.sum(1, keepdims=True)
        places = np.arange(self.present.shape[1])
        inner: NDArray[np.bool_] = (places > 0) & (places < lengths - 1)
        return inner
