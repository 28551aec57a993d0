"""Texts that say the same in the same words."""

import re
import unicodedata

from ..util.simplified import converter

_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff]")
_FINAL = " .。?!,、;:~"  # after NFKC
_QUOTES = "\"'“”‘’「」『』"
_BESIDE_HAN = re.compile(r"(?<![a-z0-9]) | (?![a-z0-9])")


def normal_form(text: str) -> str:
    """A text without differences of width, case, traditional characters, spaces beside
    Chinese, invisible characters, quotation marks around it, and punctuation at its end."""
    form = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text).casefold())
    form = _BESIDE_HAN.sub("", " ".join(form.split()))
    form = form.rstrip(_FINAL + _QUOTES).lstrip(_QUOTES) or form
    return form if form.isascii() else str(converter("t2s").convert(form))
