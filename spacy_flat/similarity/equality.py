"""Texts that say the same in the same words."""

import re
import unicodedata
from functools import cache
from typing import Any

_FINAL = " .。?!,、;:~"  # after NFKC
_BESIDE_HAN = re.compile(r"(?<![a-z0-9]) | (?![a-z0-9])")


def normal_form(text: str) -> str:
    """A text without differences of width, case, traditional characters (with OpenCC), spaces
    beside Chinese, and punctuation at its end."""
    form = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    form = _BESIDE_HAN.sub("", form)
    form = form.rstrip(_FINAL) or form
    converter = None if form.isascii() else _simplified()
    return converter.convert(form) if converter is not None else form


@cache
def _simplified() -> Any:
    """OpenCC's converter, or None where it isn't installed."""
    try:
        from opencc import OpenCC
    except ImportError:
        return None
    return OpenCC("t2s")
