"""Characters as numbers and back.

Key 0 stands for all unknown characters. The marks before and after a text have their own keys.
Padding needs none: nothing that is predicted comes after it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..text.batches import padding
from ..text.featuriser import TextFeaturiser
from ..text.scripts import Simplifier
from ..text.vocabulary import TableVocab, hash_characters
from ..util.arrays import Bools, Ints, Strings
from .options import TextOptions

UNKNOWN = 0  # key of all unknown characters
START, END = 0x110000, 0x110001  # codes of the marks, after all of Unicode


@dataclass(frozen=True)
class Piece:
    """A piece of B texts, C characters long, padded on the right. Each row predicts the next
    character from those before it: M in all.

    is_first: whether the texts begin here; otherwise the rows continue the previous piece's first.
    """

    inputs: Ints  # [B, C] keys
    present: Bools  # [B, C] False for padding
    targets: Ints  # [M] keys of the characters that follow, row by row
    places: Ints  # [M] of these among all numbers: texts with their marks, one after the other
    is_first: bool


@dataclass(frozen=True)
class CharFeaturiser(TextFeaturiser):
    """Turns texts into pieces, and keys into characters."""

    options: TextOptions
    chars: TableVocab = field(default_factory=TableVocab.empty)
    simplifier: Simplifier = field(default_factory=Simplifier)

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

    def marked(self, text: str, n_starts: int = 1) -> Ints:
        """[n_starts + C + 1] keys of a text between start marks and an end mark."""
        start, end = self.marks
        return np.concatenate([[start] * n_starts, self.keys(text), [end]])

    def pieces(self, texts: Sequence[str]) -> Iterator[Piece]:
        """Pieces of at most `piece_length` characters, of some texts at a time, longest first. With
        padding they have at most `batch_size` characters, or are of one text."""
        if not texts:
            return
        length = self.options.piece_length
        keys = np.concatenate([self.marked(text) for text in texts])
        lengths = np.array([len(text) + 1 for text in texts])  # what is predicted
        starts = np.cumsum(lengths + 1) - lengths - 1
        order = np.argsort(-lengths, kind="stable")
        while len(order):
            longest = int(lengths[order[0]])
            n_rows = max(1, self.options.batch_size // min(longest, length))
            rows, order = order[:n_rows], order[n_rows:]
            for begin in range(0, longest, length):
                rows = rows[lengths[rows] > begin]
                counts = np.minimum(lengths[rows] - begin, length)
                places, present = padding(counts, starts[rows] + begin)
                following = places[present] + 1
                yield Piece(keys[places], present, keys[following], following, begin == 0)
