"""The texts of an index, as the network reads them.

Shapes: N texts, U units of all texts, D width of the embeddings, W width of a tok2vec's vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..text.vocabulary import Ragged, padding
from ..util.arrays import Float32s, Floats, Ints
from .featuriser import PairTexts
from .model import PairModel, network_of, sentence_vectors

Arrays = dict[str, NDArray[Any]]
UPSTREAM = "upstream"


@dataclass(frozen=True)
class EncodedTexts:
    """N texts, with ids instead of embeddings, which take much more memory."""

    counts: Ints  # [N] units
    units: Arrays  # [U] ids by table; [U, W] "upstream", if there is a tok2vec
    vectors: Floats  # [N, D] see `sentence_vectors`

    @classmethod
    def of(cls, model: PairModel, texts: PairTexts, dtype: type = np.float32) -> "EncodedTexts":
        """All distinct texts of pairs. dtype: of the vectors."""
        units: Arrays = {name: ids.astype(np.int32) for name, ids in texts.ids.columns.items()}
        if UPSTREAM in units:
            units[UPSTREAM] = texts.vectors[units[UPSTREAM]].cpu().numpy().astype(dtype)
        return cls(texts.ids.counts, units, sentence_vectors(model, texts).astype(dtype))

    @classmethod
    def join(cls, parts: Sequence["EncodedTexts"]) -> "EncodedTexts":
        arrays = [part.arrays for part in parts]
        return cls.restore({name: np.concatenate([a[name] for a in arrays]) for name in arrays[0]})

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> "EncodedTexts":
        """From `arrays`."""
        units = dict(arrays)
        return cls(units.pop("counts"), vectors=units.pop("vectors"), units=units)

    @property
    def arrays(self) -> Arrays:
        return {"counts": self.counts, "vectors": self.vectors, **self.units}

    def select(self, numbers: Ints) -> "EncodedTexts":
        """Some of the texts."""
        starts = np.cumsum(self.counts) - self.counts
        places, present = padding(self.counts[numbers], starts[numbers])
        units = {name: array[places[present]] for name, array in self.units.items()}
        return EncodedTexts(self.counts[numbers], units, self.vectors[numbers])

    @cached_property
    def _vectors(self) -> Float32s:
        return self.vectors.astype(np.float32)

    def cosines(self, query: "EncodedTexts") -> Float32s:
        """[N] cosines of the sentence vectors of the texts and of a single one."""
        found: Float32s = self._vectors @ query.vectors[0]
        return found

    def pairs_of_first(self, model: PairModel) -> PairTexts:
        """The first text with each of the others."""
        columns = {name: array.astype(np.int64) for name, array in self.units.items()}
        vectors = None
        if UPSTREAM in columns:
            rows = np.pad(self.units[UPSTREAM].astype(np.float32), ((1, 0), (0, 0)))
            vectors = network_of(model).to_tensor(rows)
            columns[UPSTREAM] = np.arange(1, len(rows))
        others = np.arange(1, len(self.counts))
        ids = Ragged(self.counts, columns)
        return PairTexts(ids, np.zeros_like(others), others, vectors=vectors)
