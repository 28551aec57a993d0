"""Texts cut into words of a lexicon, to train word vectors on."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from string import ascii_letters, digits

import numpy as np

from ..vectors.training import Cut
from .lexicon import Lexicon
from .sources import jieba_words

_RUN = re.compile(r"[0-9A-Za-z]+")
_ALPHANUMERIC = frozenset(ascii_letters + digits)


def longest_match(lexicon: Lexicon) -> Cut:
    """Cut from left to right into the longest words; otherwise into runs of ASCII letters and
    digits, and single characters. Omits white space."""

    def cut(texts: Sequence[str]) -> Iterator[list[str]]:
        for text, words in _words(lexicon, texts):
            # Of words with the same start the longest comes last.
            yield list(_units(text, {start: end for start, end, _ in words}))

    return cut


def _words(
    lexicon: Lexicon, texts: Sequence[str]
) -> Iterator[tuple[str, list[tuple[int, int, int]]]]:
    """Each normalised text, and start, end and id of the words in it, sorted."""
    texts = [lexicon.normalise(text) for text in texts]
    matches = lexicon.match(texts)
    columns = matches.starts.tolist(), matches.ends.tolist(), matches.words.tolist()
    words = list(zip(*columns, strict=True))
    bounds = matches.texts.searchsorted(range(len(texts) + 1)).tolist()
    for text, (first, last) in zip(texts, pairwise(bounds), strict=True):
        yield text, words[first:last]


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
    """Cut along the most probable path by word frequency, as jieba does without its hidden Markov
    model, but with the words of this lexicon. Omits white space.

    The frequencies of single characters are jieba's. A word without a frequency gets the lowest
    that makes it more probable than its characters.
    """
    singles = {entry.word: entry.frequency for entry in jieba_words() if len(entry.word) == 1}
    frequencies = lexicon.frequencies.astype(np.float64)
    total = sum(singles.values()) + float(frequencies[lexicon.alive & (frequencies > 0)].sum())
    for id in np.flatnonzero(frequencies < 0).tolist():
        apart = total * math.prod([singles.get(char, 1) / total for char in lexicon.word(id)])
        frequencies[id] = math.floor(apart) + 1
    with np.errstate(divide="ignore"):  # like jieba, which never uses a word of frequency 0
        logs = np.log(frequencies / total).tolist()
    log_singles = {char: math.log((count or 1) / total) for char, count in singles.items()}
    log_unknown = -math.log(total)

    def path(text: str, words: list[tuple[int, int, int]]) -> Iterator[str]:
        # For each character the log-probability and end of the units that start there.
        choices = [[(log_singles.get(char, log_unknown), end)] for end, char in enumerate(text, 1)]
        for start, end, word in words:
            choices[start].append((logs[word], end))
        best = [(0.0, 0)] * (len(text) + 1)
        for start in reversed(range(len(text))):
            best[start] = max((log + best[end][0], end) for log, end in choices[start])

        def in_run(place: int) -> bool:
            return best[place][1] == place + 1 and text[place] in _ALPHANUMERIC

        start = 0
        while start < len(text):
            end = best[start][1]
            # Single ASCII letters and digits stay together, as in jieba.
            while end < len(text) and in_run(start) and in_run(end):
                end += 1
            unit = text[start:end]
            if not unit.isspace():
                yield unit
            start = end

    def cut(texts: Sequence[str]) -> Iterator[list[str]]:
        return (list(path(text, words)) for text, words in _words(lexicon, texts))

    return cut
