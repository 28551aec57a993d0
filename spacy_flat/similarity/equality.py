"""Texts that say the same in the same words."""

import re
import unicodedata
from functools import cache

from ..text.scripts import QUOTES, UNSPACED_RANGES, ZERO_WIDTH, converter

_FINAL = " .。?!,、;:~"  # after NFKC
_QUOTES = f"\"'{QUOTES}「」『』"
_WORD = rf"[^\W{UNSPACED_RANGES}]"  # of other scripts
_BESIDE_HAN = re.compile(rf"(?<!{_WORD}) | (?!{_WORD})")


def same_width(text: str) -> str:
    """A text in NFKC, but for characters that would become a digit: 10² isn't 102, nor 5㎡ 5m2."""
    if unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFC", "".join(map(_same_width, text)))


@cache
def _same_width(character: str) -> str:
    form = unicodedata.normalize("NFKC", character)
    gains_digit = any(map(str.isnumeric, form)) and unicodedata.category(character) != "Nd"
    return character if gains_digit else form


def normal_form(text: str) -> str:
    """A text without differences of width, case, traditional characters, spaces beside
    Chinese, invisible characters, quotation marks around it, and punctuation at its end."""
    form = ZERO_WIDTH.sub("", same_width(text)).casefold()
    form = _BESIDE_HAN.sub("", " ".join(form.split()))
    form = form.rstrip(_FINAL) or form
    if form[:1] in _QUOTES and form[-1:] in _QUOTES:
        form = form.strip(_QUOTES).rstrip(_FINAL) or form
    return form if form.isascii() else str(converter("t2s").convert(form))
