"""Words in Latin, Greek or Cyrillic letters, and numbers, which a word of the lexicon must not
cut."""

import re

import numpy as np

from ..util.arrays import Bools

# Letters, also full-width ones, and combining accents.
_LETTER = "A-Za-zÀ-ÖØ-öø-ɏ\u0300-\u036f\u0370-\u052fḀ-ỿＡ-Ｚａ-ｚ"
_DIGIT = "[0-9０-９]"
_RUN = re.compile(f"[{_LETTER}]{{2,}}|{_DIGIT}(?:[.,]?{_DIGIT})+")


def cuts(text: str) -> Bools | None:
    """[characters + 1] the places within such words and numbers; None if there are none."""
    found = None
    for run in _RUN.finditer(text):
        if found is None:
            found = np.zeros(len(text) + 1, dtype=np.bool_)
        found[run.start() + 1 : run.end()] = True
    return found
