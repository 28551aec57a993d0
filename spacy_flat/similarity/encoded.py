"""The texts of an index, as the network reads them, in arrays.

Shapes: N texts, U units of all texts, D width of the embeddings, W width of a tok2vec's vectors.

"counts": [N] units. "vectors": [N, D], see `sentence_vectors`. All others are of units: [U] ids
instead of embeddings, which take much more memory, and "upstream" [U, W] if there is a tok2vec.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..text.vocabulary import Ragged, padding
from ..util.arrays import Ints
from .featuriser import PairTexts
from .model import PairModel, network_of, sentence_vectors

Arrays = dict[str, NDArray[Any]]
UPSTREAM = "upstream"
OF_TEXTS = ("counts", "vectors")


def encode(model: PairModel, texts: PairTexts, dtype: type = np.float32) -> Arrays:
    """All distinct texts of pairs. dtype: of the vectors."""
    arrays: Arrays = {name: ids.astype(np.int32) for name, ids in texts.ids.columns.items()}
    if UPSTREAM in arrays:
        arrays[UPSTREAM] = texts.vectors[arrays[UPSTREAM]].cpu().numpy().astype(dtype)
    vectors: NDArray[Any] = sentence_vectors(model, texts).astype(dtype)
    return {"counts": texts.ids.counts, "vectors": vectors, **arrays}


def join(parts: Sequence[Arrays]) -> Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def pair_with(query: Arrays, texts: Arrays, numbers: Ints, model: PairModel) -> PairTexts:
    """A single text with some others."""
    starts = np.cumsum(texts["counts"]) - texts["counts"]
    places, present = padding(texts["counts"][numbers], starts[numbers])
    units = places[present]
    chosen = {name: array[numbers if name in OF_TEXTS else units] for name, array in texts.items()}
    arrays = join([query, chosen])
    vectors = None
    if UPSTREAM in arrays:
        rows = np.pad(arrays[UPSTREAM].astype(np.float32), ((1, 0), (0, 0)))
        vectors = network_of(model).to_tensor(rows)
        arrays[UPSTREAM] = np.arange(1, len(rows))
    columns = {n: array.astype(np.int64) for n, array in arrays.items() if n not in OF_TEXTS}
    others = np.arange(1, 1 + len(numbers))
    pairs = np.zeros_like(others), others
    return PairTexts(Ragged(arrays["counts"], columns), *pairs, vectors=vectors)
