"""Spellings that count as the same, each of the same length, and places at which no word ends."""

import re

import numpy as np

from ..util.arrays import Bools, Ints
from ..util.characters import ZERO_WIDTH

# Letters, also full-width ones, and combining accents.
_LETTER = "A-Za-zÀ-ÖØ-öø-ɏ\u0300-\u036f\u0370-\u052fḀ-ỿＡ-Ｚａ-ｚ"
_DIGIT = "[0-9０-９]"
_RUN = re.compile(f"[{_LETTER}]{{2,}}|{_DIGIT}(?:[.,]?{_DIGIT})+")
_HAS_CASE = re.compile(f"[{_LETTER}]")
_REMOVE_ZERO_WIDTH = dict.fromkeys(map(ord, ZERO_WIDTH))


def fold_case(text: str) -> str:
    """Lower case of the same length."""
    # "İ" would become two characters, and "Σ" depends on its place in a word.
    return text.replace("İ", "i").lower().replace("ς", "σ")


def has_case(text: str) -> bool:
    """Whether a text may contain letters that have a case."""
    return _HAS_CASE.search(text) is not None


def has_zero_width(text: str) -> bool:
    """Whether a text contains zero-width characters."""
    return any(char in text for char in ZERO_WIDTH)  # much faster than a regular expression


def remove_zero_width(text: str) -> str:
    """The text without zero-width characters."""
    return text.translate(_REMOVE_ZERO_WIDTH) if has_zero_width(text) else text


def visible_places(text: str) -> Ints:
    """The places of the characters that `remove_zero_width` leaves."""
    return np.array([n for n, char in enumerate(text) if char not in ZERO_WIDTH], np.int64)


def cuts(text: str) -> Bools | None:
    """[characters + 1] the places within words in Latin, Greek or Cyrillic letters, and within
    numbers, which a word of the lexicon must not cut; None if there are none."""
    found = None
    for run in _RUN.finditer(text):
        if found is None:
            found = np.zeros(len(text) + 1, dtype=np.bool_)
        found[run.start() + 1 : run.end()] = True
    return found
