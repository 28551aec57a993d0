"""Hashes for looking up characters, bigrams and words: whole numbers, [N] at a time."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .units import Ints

Hashes = NDArray[np.uint64]

_SHIFT = np.uint64(21)  # a code point has 21 bits
_DIGITS = str.maketrans("123456789１２３４５６７８９０", "0" * 19)


def hash_characters(text: str, normalise_numbers: bool) -> Hashes:
    """[C] code points; digits all become 0 when numbers are normalised."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    if normalise_numbers:
        for zero in "0０":
            codes = np.where((codes >= ord(zero)) & (codes < ord(zero) + 10), ord("0"), codes)
    return codes.astype(np.uint64)


def hash_bigrams(codes: Hashes, last: Ints) -> Hashes:
    """[C] codes of characters → [C] codes of them and their right neighbours.

    last: places of the last characters of segments: their neighbour is the end mark, code 0.
    """
    following = np.zeros_like(codes)
    following[:-1] = codes[1:]
    following[last] = 0
    both: Hashes = (codes << _SHIFT) | following
    return both


def hash_entries(entries: Sequence[str], size: int, normalise_numbers: bool) -> tuple[Hashes, Ints]:
    """Hashes of the entries of one character (size 1) or two (size 2), and their places."""
    places = np.array([i for i, entry in enumerate(entries) if len(entry) == size], dtype=np.int64)
    codes = hash_characters("".join(entries[place] for place in places), normalise_numbers)
    return (codes if size == 1 else (codes[::2] << _SHIFT) | codes[1::2]), places


def hash_words(words: Iterable[str], *, lower_case: bool, normalise_numbers: bool) -> Hashes:
    """[N] codes of words: 64 bits of a hash, the same on every machine."""
    forms = (normalise_word(word, lower_case, normalise_numbers) for word in words)
    digests = b"".join(
        hashlib.blake2b(form.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for form in forms
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def normalise_word(word: str, lower_case: bool, normalise_numbers: bool) -> str:
    """The form in which a word is looked up: in lower case, its digits all 0, where asked for."""
    word = word.lower() if lower_case else word
    return word.translate(_DIGITS) if normalise_numbers else word
