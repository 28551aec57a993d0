"""All overlapping occurrences of many words in one pass of an Aho–Corasick automaton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from daachorse import CharwiseDoubleArrayAhoCorasick

from ..util.arrays import Int32s, Ints

# Characters searched at a time, and the longest possible word. Matches are Python tuples before
# they become an array: pieces bound their memory. With much smaller pieces two automata would evict
# each other from the processor's cache.
PIECE = 32768

Hits = tuple[Ints, Int32s, Int32s]  # starts, lengths and ids, sorted by (start, length)


@dataclass(frozen=True)
class Automaton:
    """Finds the words with the ids first, first + 1, …"""

    matcher: CharwiseDoubleArrayAhoCorasick
    first: int

    @classmethod
    def build(cls, words: list[str], first: int) -> Automaton:
        """words: distinct and not empty."""
        return cls(CharwiseDoubleArrayAhoCorasick(words), first)

    @classmethod
    def load(cls, data: bytes, first: int) -> Automaton:
        """Load from `save`. Raises ValueError for damaged data."""
        return cls(CharwiseDoubleArrayAhoCorasick.deserialize(data), first)

    def save(self) -> bytes:
        return self.matcher.serialize()

    def index(self, word: str) -> int:
        """The id of a word, or -1."""
        for start, end, pattern in self.matcher.find_overlapping(word):
            if end - start == len(word):
                return self.first + pattern
        return -1


def find_all(automata: Sequence[Automaton], text: str, longest: int) -> Hits:
    """All occurrences of words, [M].

    longest: characters of the longest word. Pieces overlap by one less.
    """
    found = [np.zeros((0, 3), np.int64)]
    for offset in range(0, len(text), PIECE):
        rows = _find_piece(automata, text[offset : offset + PIECE + longest - 1])
        found.append(rows + np.array([offset, offset, 0]))
    starts, ends, words = np.concatenate(found).T
    return starts, (ends - starts).astype(np.int32), words.astype(np.int32)


def _find_piece(automata: Sequence[Automaton], piece: str) -> Int32s:
    """Start, end and id of the matches that start in the first PIECE characters, [M, 3], sorted."""
    found = [np.zeros((0, 3), np.int32)]
    for automaton in automata:
        matches = automaton.matcher.find_overlapping(piece)
        # Flat, since numpy reads numbers several times as fast as tuples of them.
        flat = np.fromiter(chain.from_iterable(matches), np.int32, 3 * len(matches))
        rows = flat.reshape(-1, 3)
        rows[:, 2] += automaton.first
        found.append(rows)
    rows = np.concatenate(found)
    # 16 bits hold the offsets in a piece with its overlap, and sort fastest.
    start, end = rows[:, :2].astype(np.uint16).T
    # One automaton's matches come sorted by end, and the sort is stable.
    rows = rows.take(np.lexsort((end, start) if len(automata) > 1 else (start,)), axis=0)
    # The others belong to the next piece.
    return rows[: np.searchsorted(rows[:, 0], PIECE)]
