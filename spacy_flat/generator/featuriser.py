"""Characters as numbers and back.

Key 0 stands for all unknown characters. The marks before and after a text have their own keys.
Padding has none: it is never predicted, and nothing that is predicted comes after it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..text.featuriser import TextFeaturiser
from ..text.hashing import hash_characters
from ..text.padding import padding, take
from ..text.vocabulary import TableVocab
from ..util.arrays import Ints, Strings
from ..util.simplified import Simplifier
from .batch import Piece, TextBatch
from .options import TextOptions

UNKNOWN = 0  # key of all unknown characters
START, END = 0x110000, 0x110001  # codes of the marks, after all of Unicode


@dataclass(frozen=True)
class CharFeaturiser(TextFeaturiser):
    """Turns texts into batches, and keys into characters."""

    options: TextOptions
    chars: TableVocab
    simplifier: Simplifier = field(default_factory=Simplifier)

    @classmethod
    def empty(cls, options: TextOptions) -> "CharFeaturiser":
        return cls(options, TableVocab.empty())

    @cached_property
    def marks(self) -> tuple[int, int]:
        """The keys of the start and the end mark."""
        start, end = self.chars.look_up(np.array([START, END], dtype=np.uint64)).tolist()
        return start, end

    @cached_property
    def strings(self) -> Strings:
        """[K] the character of each key; "" for the marks and the unknown character."""
        strings = np.full(len(self.chars) + 1, "", dtype=object)
        for code, key in zip(self.chars.hashes.tolist(), self.chars.ids.tolist(), strict=True):
            strings[key] = chr(code) if code < START else ""
        return strings

    def keys(self, text: str) -> Ints:
        """[C] keys of the characters of a text."""
        codes = hash_characters(self.simplifier(text), normalise_numbers=False)
        return self.chars.look_up(codes)

    def batches(self, texts: Sequence[str]) -> Iterator[TextBatch]:
        """Batches of whole texts, longest first. A piece of a batch has at most `batch_size`
        characters with padding, or is of one text."""
        if not texts:
            return
        start, end = self.marks
        parts = [self.keys(text) for text in texts]
        keys = np.concatenate([each for part in parts for each in ([start], part, [end])])
        n_units = np.array([len(part) for part in parts], dtype=np.int64)
        starts = np.cumsum(n_units + 2) - n_units - 2
        order = np.argsort(-n_units, kind="stable")
        while len(order):
            longest = min(int(n_units[order[0]]) + 1, self.options.bptt_length)
            n_rows = max(1, self.options.batch_size // longest)
            rows, order = order[:n_rows], order[n_rows:]
            yield TextBatch(n_units[rows], starts[rows], keys)

    def pieces(self, batch: TextBatch) -> Iterator[Piece]:
        """Pieces of at most `bptt_length` characters. A text leaves when it ends, so that row b is
        always of text b."""
        length = self.options.bptt_length
        for start in range(0, int(batch.n_units[0]) + 1, length):
            counts = np.minimum(batch.n_units + 1 - start, length)
            counts = counts[counts > 0]
            places, present = padding(counts, batch.starts[: len(counts)] + start)
            following = places[present] + 1
            yield Piece(
                take(batch.keys, places, present), present, batch.keys[following], following
            )
