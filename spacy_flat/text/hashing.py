"""Integer hashes of characters, bigrams and words, [N] at a time."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..util.arrays import Hashes, Ints

_SHIFT = np.uint64(21)  # a code point has 21 bits
_DIGITS = str.maketrans("123456789１２３４５６７８９０", "0" * 19)


def hash_characters(text: str, normalise_numbers: bool) -> Hashes:
    """[C] code points; normalising numbers turns all digits into 0."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    if normalise_numbers:
        for zero in "0０":
            codes = np.where((codes >= ord(zero)) & (codes < ord(zero) + 10), ord("0"), codes)
    return codes.astype(np.uint64)


def hash_bigrams(codes: Hashes, last: Ints) -> Hashes:
    """[C] characters → [C] pairs with their right neighbours.

    last: places of the segments' last characters, whose neighbour is the end mark, 0.
    """
    following = np.zeros_like(codes)
    following[:-1] = codes[1:]
    following[last] = 0
    both: Hashes = (codes << _SHIFT) | following
    return both


def hash_words(words: Iterable[str], form: Any) -> Hashes:
    """[N] 64-bit hashes of words, the same on every machine. form: as in `normalise_word`."""
    words = list(words)
    hashes = {}
    for word in dict.fromkeys(words):
        data = normalise_word(word, form).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, digest_size=8).digest()
        hashes[word] = int.from_bytes(digest, "little")
    return np.fromiter((hashes[word] for word in words), np.uint64, len(words))


def normalise_word(word: str, form: Any) -> str:
    """How a word is looked up, by the options `lower_case` and `normalise_numbers`."""
    word = word.lower() if form.lower_case else word
    return word.translate(_DIGITS) if form.normalise_numbers else word
