"""How much of a corpus a lexicon knows."""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from .lexicon import Lexicon

_TEXTS_AT_ONCE = 2000


def character_coverage(lexicon: Lexicon, texts: Iterable[str]) -> float:
    """The share of characters that are in a word of the lexicon; 0 without characters.

    Raises TypeError (F028) for texts that aren't strings.
    """
    remaining = iter(texts)
    covered = total = 0
    while some := list(islice(remaining, _TEXTS_AT_ONCE)):
        covered += _covered(lexicon, some)
        total += sum(map(len, some))
    return covered / total if total else 0.0


def _covered(lexicon: Lexicon, texts: Sequence[str]) -> int:
    """The number of characters that are in a word."""
    matches = lexicon.match(texts)
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    firsts = np.cumsum(sizes) - sizes
    # +1 where a word starts, -1 where it ends: the running sum counts open words.
    changes = np.zeros(int(sizes.sum()) + 1, dtype=np.int64)
    np.add.at(changes, firsts[matches.texts] + matches.starts, 1)
    np.add.at(changes, firsts[matches.texts] + matches.ends, -1)
    return int(np.count_nonzero(np.cumsum(changes)))


def entity_coverage(lexicon: Lexicon, entities: Iterable[str]) -> float:
    """The share of entity texts, with repetitions, that are words of the lexicon; 0 without any.

    Raises TypeError (F028) for entities that aren't strings.
    """
    known = [lexicon.index(entity) >= 0 for entity in entities]
    return sum(known) / len(known) if known else 0.0
