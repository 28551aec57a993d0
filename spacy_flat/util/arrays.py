"""Types of numpy arrays, and of the ids in them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Floats = NDArray[np.floating[Any]]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Hashes = NDArray[np.uint64]
Strings = NDArray[np.object_]

OOV_BITS = 14  # of the negative ids of unknown entries, which have fixed vectors
