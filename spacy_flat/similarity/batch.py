"""The network's input: texts as rows, and where they stand in padded arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..text.batches import Ragged, padding, starts_of
from ..util.arrays import Bools, Ints


@dataclass(frozen=True)
class TextBatch:
    """Texts of one side, or of both sides of pairs: a row for each unit.

    Shapes: R rows, B texts of a side, L units of its longest text.
    """

    ids: dict[str, Ints]  # [R] of characters and bigrams, or of words: 0 or less if unknown
    upstream: Any  # [R, W] vectors of a tok2vec, a tensor, or None
    owners: Ints  # [R] which text has the unit
    rows: list[Ints]  # of each side, [B, L] the rows of its units; any for padding
    present: list[Bools]  # of each side, [B, L] false for padding
    places: Ints  # [R] of units in the padded arrays of all sides, one after the other

    @classmethod
    def of(cls, texts: Ragged, sides: list[Ints], vectors: Any = None) -> "TextBatch":
        """Some of the texts, by their numbers.

        vectors: of a tok2vec, of which the texts' column "upstream" has the rows.
        """
        chosen = np.concatenate(sides)
        counts = texts.counts[chosen]
        places, is_there = padding(counts, texts.starts[chosen])
        columns = {name: ids[places[is_there]] for name, ids in texts.columns.items()}
        of_vectors = columns.pop("upstream", None)
        upstream = None if of_vectors is None else vectors[of_vectors]
        owners = np.repeat(np.arange(len(chosen)), counts)
        ends = np.cumsum([len(side) for side in sides])[:-1]
        by_side = zip(np.split(counts, ends), np.split(starts_of(counts), ends), strict=True)
        rows, present = map(list, zip(*(padding(*own) for own in by_side), strict=True))
        flat = np.flatnonzero(np.concatenate([own.ravel() for own in present]))
        return cls(columns, upstream, owners, rows, present, flat)
