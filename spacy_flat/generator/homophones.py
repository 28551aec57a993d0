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
    """The readings of a Chinese character in words, or else its most frequent one, with zh = z,
    ch = c, sh = s, ang = an, eng = en and ing = in; none of any other character.

    Raises ImportError (F030) without pypinyin.
    """
    with needed('confusion = "homophones"', "pypinyin", "poems"):
        from pypinyin import Style, pinyin
    found = pinyin(character, style=Style.NORMAL, errors="ignore")
    usual = {each for readings in found for each in readings}
    return frozenset(map(merged, usual | _readings_in_words().get(character, set())))


@cache
def _readings_in_words() -> dict[str, set[str]]:
    """Of each character, without tones, from pypinyin's words. Its other readings are rare: 方 can
    be read as wang."""
    from pypinyin.contrib.tone_convert import to_normal
    from pypinyin.phrases_dict import phrases_dict

    syllable = cache(to_normal)
    found: dict[str, set[str]] = {}
    for word, readings in phrases_dict.items():
        for character, (reading, *_) in zip(word, readings, strict=False):
            found.setdefault(character, set()).add(syllable(reading))
    return found


def merged(syllable: str) -> str:
    start = MERGED.get(syllable[:2])
    syllable = syllable if start is None else start + syllable[2:]
    return syllable[:-1] if syllable.endswith(FINAL_G) else syllable
