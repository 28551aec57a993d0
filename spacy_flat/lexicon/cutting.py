"""Texts cut into words of a lexicon, to train word vectors on."""

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from ..vectors.training import Cut
from .lexicon import Lexicon
from .sources import jieba_words

_RUN = re.compile(r"[0-9A-Za-z]+")


def longest_match(lexicon: Lexicon) -> Cut:
    """Cut from left to right, always at the longest word that starts here.

    Where none does, a run of ASCII letters and digits is a unit, and so is any other character.
    White space is left out.
    """

    def cut(texts: Sequence[str]) -> Iterator[list[str]]:
        matches = lexicon.match(texts)
        bounds = matches.texts.searchsorted(range(len(texts) + 1)).tolist()
        starts, ends = matches.starts.tolist(), matches.ends.tolist()
        for number, text in enumerate(texts):
            first, last = bounds[number : number + 2]
            # Matches are sorted by start, then end: the longest of a start comes last and stays.
            longest = dict(zip(starts[first:last], ends[first:last], strict=True))
            yield list(_units(text, longest))

    return cut


def _units(text: str, longest: dict[int, int]) -> Iterator[str]:
    place = 0
    while place < len(text):
        end = longest.get(place)
        if end is None:
            run = _RUN.match(text, place)
            end = run.end() if run else place + 1
        unit = text[place:end]
        if not unit.isspace():
            yield unit
        place = end


def most_probable(lexicon: Lexicon) -> Cut:
    """Cut at the most probable path by word frequency, as jieba does without its hidden Markov
    model, over the words of this lexicon.

    The frequencies of single characters are jieba's. A word without a frequency gets the least one
    at which it is preferred to its characters.
    """
    import jieba

    frequencies = {entry.word: entry.frequency for entry in jieba_words() if len(entry.word) == 1}
    ids = np.flatnonzero(lexicon.alive)
    known = dict(zip(lexicon, lexicon.frequencies[ids].tolist(), strict=True))
    total = sum(frequencies.values()) + sum(max(0.0, frequency) for frequency in known.values())
    for word, frequency in known.items():
        apart = math.prod(frequencies.get(char, 1) / total for char in word) * total
        frequencies[word] = frequency if frequency >= 0 else math.floor(apart) + 1
    # jieba looks for longer words only where it knows every beginning.
    for word in list(frequencies):
        for end in range(1, len(word)):
            frequencies.setdefault(word[:end], 0)
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total, tokenizer.initialized = frequencies, total, True

    def cut(texts: Sequence[str]) -> Iterator[list[str]]:
        for text in texts:
            yield [unit for unit in tokenizer.cut(text, HMM=False) if not unit.isspace()]

    return cut
