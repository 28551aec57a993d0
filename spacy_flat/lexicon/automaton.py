"""All overlapping occurrences of many words in one pass of an Aho–Corasick automaton."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from daachorse import CharwiseDoubleArrayAhoCorasick
from numpy.typing import NDArray

# Characters searched at a time. The matches of one piece are Python tuples before they are an
# array: small pieces keep these few and in the processor's cache, whatever the text's length.
PIECE = 2048

# A match as one integer that sorts by (start, length, word): the start takes the bits above.
LENGTH_BITS, WORD_BITS = 20, 31


@dataclass(frozen=True)
class Automaton:
    """The searchable form of the words with the ids first, first + 1, …"""

    matcher: CharwiseDoubleArrayAhoCorasick
    first: int

    @classmethod
    def build(cls, words: list[str], first: int) -> "Automaton":
        return cls(CharwiseDoubleArrayAhoCorasick(words), first)

    def index(self, word: str) -> int:
        """The id of a word, -1 if it is not here."""
        for start, end, pattern in self.matcher.find_overlapping(word):
            if end - start == len(word):
                return self.first + pattern
        return -1


def find_all(
    automata: Sequence[Automaton], text: str, longest: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Find every occurrence of every word in a text.

    longest: the characters of the longest word, which is how far neighbouring pieces overlap.
    Returns starts (characters), lengths and word ids, each [M], sorted by (start, length).
    """
    starts, lengths, words = [], [], []
    for offset in range(0, len(text), PIECE):
        keys = _find_piece(automata, text[offset : offset + PIECE + longest - 1])
        starts.append((keys >> (LENGTH_BITS + WORD_BITS)) + offset)
        lengths.append(((keys >> WORD_BITS) & ((1 << LENGTH_BITS) - 1)).astype(np.int32))
        words.append((keys & ((1 << WORD_BITS) - 1)).astype(np.int32))
    if not starts:
        return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
    return np.concatenate(starts), np.concatenate(lengths), np.concatenate(words)


def _find_piece(automata: Sequence[Automaton], piece: str) -> NDArray[np.int64]:
    """Matches of one piece that start in its first PIECE characters, packed and sorted, [M]."""
    packed = [np.zeros(0, np.int64)]
    for automaton in automata:
        found = automaton.matcher.find_overlapping(piece)
        flat = np.fromiter(chain.from_iterable(found), np.int64, 3 * len(found))
        start, end, pattern = flat.reshape(-1, 3).T
        keys = (start << LENGTH_BITS) + (end - start)
        packed.append((keys << WORD_BITS) + pattern + automaton.first)
    keys = np.concatenate(packed)
    keys.sort()
    # What starts beyond belongs to the next piece.
    return keys[: np.searchsorted(keys, PIECE << (LENGTH_BITS + WORD_BITS))]
