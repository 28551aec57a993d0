"""Words in Latin letters, and numbers, which a word of the lexicon must not cut."""

import re

import numpy as np

from ..util.arrays import Bools

_LETTER = "A-Za-zÀ-ÖØ-öø-ɏＡ-Ｚａ-ｚ"
_DIGIT = "0-9０-９"
_WITHIN = re.compile(f"(?<=[{_LETTER}])(?=[{_LETTER}])|(?<=[{_DIGIT}])(?=[{_DIGIT}])")


def cuts(text: str) -> Bools | None:
    """[characters + 1] the places between two Latin letters or two digits; None if there are
    none."""
    places = [match.start() for match in _WITHIN.finditer(text)]
    if not places:
        return None
    found = np.zeros(len(text) + 1, dtype=np.bool_)
    found[places] = True
    return found
