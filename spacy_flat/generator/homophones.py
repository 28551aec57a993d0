"""Characters that sound alike, which typists of pinyin confuse."""

from collections.abc import Iterable
from functools import cache
from typing import Literal

import numpy as np

from ..util.arguments import needed
from ..util.arrays import Ints

Confusion = Literal["any", "homophones"]  # which characters stand for which others by mistake

MERGED = {"zh": "z", "ch": "c", "sh": "s"}  # as input methods do for speakers who merge them
FINAL_G = ("ang", "eng", "ing")


class Homophones:
    """The keys of characters by their syllables, without tones."""

    def __init__(self, strings: Iterable[str]) -> None:
        """strings: the character of each key; "" for none."""
        self._keys: dict[str, list[int]] = {}
        for key, character in enumerate(strings):
            for syllable in syllables_of(character):
                self._keys.setdefault(syllable, []).append(key)

    def of(self, character: str) -> Ints:
        """The keys that sound like a character in one of its readings."""
        keys = [self._keys.get(syllable, []) for syllable in syllables_of(character)]
        return np.array(sorted({key for some in keys for key in some}), dtype=np.int64)


@cache
def syllables_of(character: str) -> frozenset[str]:
    """All readings of a Chinese character, with zh = z, ch = c, sh = s, ang = an, eng = en and
    ing = in; none of any other.

    Raises ImportError (F030) without pypinyin.
    """
    with needed("Homophones", "pypinyin", "poems"):
        from pypinyin import Style, pinyin
    found = pinyin(character, style=Style.NORMAL, heteronym=True, errors="ignore")
    return frozenset(merged(each) for each in found[0]) if found else frozenset()


def merged(syllable: str) -> str:
    start = MERGED.get(syllable[:2])
    syllable = syllable if start is None else start + syllable[2:]
    return syllable[:-1] if syllable.endswith(FINAL_G) else syllable
