"""All overlapping occurrences of many words in one pass of an Aho–Corasick automaton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ..util.arrays import Int32s, Ints

if TYPE_CHECKING:
    from daachorse import CharwiseDoubleArrayAhoCorasick

# Characters searched at a time, and the longest possible word. Matches are Python tuples before
# they become an array: pieces bound their memory. With much smaller pieces two automata would evict
# each other from the processor's cache.
PIECE = 32768


@dataclass(frozen=True)
class Automaton:
    """Finds the words with the ids first, first + 1, …"""

    matcher: CharwiseDoubleArrayAhoCorasick
    first: int

    @classmethod
    def build(cls, words: list[str], first: int) -> Automaton:
        """words: distinct and not empty."""
        # Imported here, as every spaCy command imports the package.
        from daachorse import CharwiseDoubleArrayAhoCorasick

        return cls(CharwiseDoubleArrayAhoCorasick(words), first)

    @classmethod
    def load(cls, data: bytes, first: int) -> Automaton:
        """Load from `save`. Raises ValueError for damaged data."""
        from daachorse import CharwiseDoubleArrayAhoCorasick

        return cls(CharwiseDoubleArrayAhoCorasick.deserialize(data), first)

    def save(self) -> bytes:
        return self.matcher.serialize()

    def index(self, word: str) -> int:
        """The id of a word, or -1."""
        for start, end, pattern in self.matcher.find_overlapping(word):
            if end - start == len(word):
                return self.first + pattern
        return -1


def find_all(automata: Sequence[Automaton], text: str, longest: int) -> tuple[Ints, Int32s, Int32s]:
    """Starts, lengths and ids of all occurrences of words, [M], sorted by (start, length).

    longest: characters of the longest word. Pieces overlap by one less.
    """
    starts = [np.zeros(0, np.int64)]
    lengths = [np.zeros(0, np.int32)]
    words = [np.zeros(0, np.int32)]
    for offset in range(0, len(text), PIECE):
        rows = _find_piece(automata, text[offset : offset + PIECE + longest - 1])
        starts.append(rows[:, 0].astype(np.int64) + offset)
        lengths.append(rows[:, 1] - rows[:, 0])
        words.append(rows[:, 2])
    return np.concatenate(starts), np.concatenate(lengths), np.concatenate(words)


def _find_piece(automata: Sequence[Automaton], piece: str) -> Int32s:
    """Start, end and id of the matches that start in the first PIECE characters, [M, 3], sorted."""
    found = [_rows(automaton, piece) for automaton in automata]
    rows = np.concatenate(found) if found else np.zeros((0, 3), np.int32)
    # 16 bits hold the offsets in a piece with its overlap, and sort fastest.
    start, end = rows[:, :2].astype(np.uint16).T
    # One automaton's matches come sorted by end, and the sort is stable.
    rows = rows.take(np.lexsort((end, start) if len(found) > 1 else (start,)), axis=0)
    # The others belong to the next piece.
    return rows[: np.searchsorted(rows[:, 0], PIECE)]


def _rows(automaton: Automaton, piece: str) -> Int32s:
    """Start, end and id of all matches in a piece, [M, 3]."""
    found = automaton.matcher.find_overlapping(piece)
    # Flat, since numpy reads numbers several times as fast as tuples of them.
    rows = np.fromiter(chain.from_iterable(found), np.int32, 3 * len(found)).reshape(-1, 3)
    rows[:, 2] += automaton.first
    return rows
