"""The vectors of pieces that an encoder reads in windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:  # networks import no thinc
    from ..text.windows import WindowBatch

Read = Callable[[Tensor, Tensor], Tensor]


def read_windows(
    read: Read, batches: Iterable[WindowBatch], n: int, width: int, device: torch.device
) -> Tensor:
    """Vectors [n, width] of the pieces of all texts; zeros for those in no window.

    read: keys [W, C] and which are not padding [W, C] → vectors [W, C, width].
    """
    rows, found = np.zeros(n, dtype=np.int64), 1
    vectors = [torch.zeros(1, width, device=device)]
    for batch in batches:
        keys, present, places = (
            torch.from_numpy(array).to(device)
            for array in (batch.keys, batch.present, batch.places)
        )
        vectors.append(read(keys, present).flatten(0, 1)[places])
        rows[batch.pieces] = found + np.arange(len(places))
        found += len(places)
    return torch.cat(vectors)[torch.from_numpy(rows).to(device)]
