"""From concatenated texts to arrays with a row for each.

Shapes: B texts or segments.
"""

import numpy as np
from numpy.typing import NDArray

from .units import Ints


def padding(counts: Ints, starts: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """[B] lengths and starts of rows in a flat array → [B, longest] places in it, and false for
    padding."""
    columns = np.arange(counts.max(initial=0))
    present = columns < counts[:, None]
    return np.where(present, starts[:, None] + columns, 0), present


def take_each(places: Ints, present: NDArray[np.bool_], *flats: Ints) -> list[Ints]:
    """The values at the same places of flat arrays."""
    return [take(flat, places, present) for flat in flats]


def take(flat: Ints, places: Ints, present: NDArray[np.bool_]) -> Ints:
    """Values of a flat array; 0 for padding."""
    if not len(flat):
        return np.zeros(places.shape, dtype=np.int64)
    return np.where(present, flat[places], 0)
