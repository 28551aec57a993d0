"""How much of a corpus a lexicon knows."""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from .lexicon import Lexicon

_TEXTS_AT_ONCE = 2000


def character_coverage(lexicon: Lexicon, texts: Iterable[str]) -> float:
    """The share of the texts' characters that are in some word of the lexicon, 0 to 1.

    0 without any character. Raises TypeError (F028) for texts that are no strings.
    """
    remaining = iter(texts)
    covered = total = 0
    while some := list(islice(remaining, _TEXTS_AT_ONCE)):
        covered += _covered(lexicon, some)
        total += sum(map(len, some))
    return covered / total if total else 0.0


def _covered(lexicon: Lexicon, texts: Sequence[str]) -> int:
    """How many characters are in some word."""
    matches = lexicon.match(texts)
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    firsts = np.cumsum(sizes) - sizes  # where each text begins among all characters
    # Each word opens at its start and closes at its end: open words are counted by a running sum.
    changes = np.zeros(int(sizes.sum()) + 1, dtype=np.int64)
    np.add.at(changes, firsts[matches.texts] + matches.starts, 1)
    np.add.at(changes, firsts[matches.texts] + matches.ends, -1)
    return int(np.count_nonzero(np.cumsum(changes)))


def entity_coverage(lexicon: Lexicon, entities: Iterable[str]) -> float:
    """The share of the entities' texts that are words of the lexicon, 0 to 1.

    A text that is given several times counts as often. 0 without any entity. Raises TypeError
    (F028) for entities that are no strings.
    """
    known = [lexicon.index(entity) >= 0 for entity in entities]
    return sum(known) / len(known) if known else 0.0
