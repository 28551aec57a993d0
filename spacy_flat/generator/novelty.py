"""How much of the written text is copied from the training text."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import Errors
from ..util.arguments import require_count

_BETWEEN_LINES = re.compile(r"[\W_]+")


class Novelty(NamedTuple):
    """Shares from 0 to 1 that occur in the training text; None for empty texts.

    ngrams: of the occurrences of character n-grams within lines.
    lines: of the whole lines.
    """

    ngrams: float | None
    lines: float | None


def measure_novelty(texts: Iterable[str], training_texts: Iterable[str], n: int = 4) -> Novelty:
    """Measure how much of texts is copied. Lines end at white space and punctuation.

    Raises ValueError (F341) for n below 1, TypeError (F026) for a single string.
    """
    require_count("n", n)
    written, known = _lines(texts), _lines(training_texts)
    ngrams = [ngram for line in written for ngram in _ngrams(line, n)]
    known_ngrams = {ngram for line in set(known) for ngram in _ngrams(line, n)}
    return Novelty(_share(ngrams, known_ngrams), _share(written, set(known)))


def _lines(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError(Errors.F026.format(value=repr(texts[:50])))
    return [line for text in texts for line in _BETWEEN_LINES.split(text) if line]


def _ngrams(line: str, n: int) -> list[str]:
    return [line[start : start + n] for start in range(len(line) - n + 1)]


def _share(found: list[str], known: set[str]) -> float | None:
    return sum(each in known for each in found) / len(found) if found else None
