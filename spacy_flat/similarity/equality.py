"""Texts that say the same in the same words."""

import re
import unicodedata

from ..util.simplified import converter

_FINAL = " .。?!,、;:~"  # after NFKC
_BESIDE_HAN = re.compile(r"(?<![a-z0-9]) | (?![a-z0-9])")


def normal_form(text: str) -> str:
    """A text without differences of width, case, traditional characters, spaces beside
    Chinese, and punctuation at its end."""
    form = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    form = _BESIDE_HAN.sub("", form)
    form = form.rstrip(_FINAL) or form
    return form if form.isascii() else str(converter("t2s").convert(form))
