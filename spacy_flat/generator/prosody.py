"""How characters are read in modern Mandarin: rhymes, tones, and which sound alike.

Rhymes are the 14 classes of 中华新韵 (Chinese Poetry Society, 2005), which group near finals such
as en, in, un and ün. Tones 1 and 2 are level, 3 and 4 oblique. Those of Tang poets differed:
characters of the lost entering tone now have any of the four.
"""

import re
from functools import cache
from typing import NamedTuple

from ..util.options import needed
from .forms import LEVEL, OBLIQUE

RHYMES = {
    "麻": "a ia ua",
    "波": "o e uo",
    "皆": "ie ve",
    "开": "ai uai",
    "微": "ei uei",
    "豪": "ao iao",
    "尤": "ou iou",
    "寒": "an ian uan van",
    "文": "en in uen vn",
    "唐": "ang iang uang",
    "庚": "eng ing ueng ong iong",
    "齐": "i er v",
    "姑": "u",
}
APICAL_VOWEL = "支"  # the -i of zhi and zi
CLASSES = {final: name for name, finals in RHYMES.items() for final in finals.split()}
APICAL_INITIALS = ("zh", "ch", "sh", "r", "z", "c", "s")


class Reading(NamedTuple):
    """The rhyme class of a character, such as "唐", and its tone, "平" or "仄"; "" if unknown."""

    rhyme: str
    tone: str


@cache
def reading(character: str) -> Reading:
    """The most frequent reading of a character with a tone.

    Raises ImportError (F030) without pypinyin.
    """
    with needed("Rhymes and tones", "pypinyin", "poems"):
        from pypinyin import Style, pinyin
        from pypinyin.contrib.tone_convert import to_finals, to_initials
    (readings,) = pinyin(character, style=Style.TONE3, heteronym=True, errors="ignore") or [[]]
    syllable = next((each for each in readings if each[-1:] in ("1", "2", "3", "4")), "")
    final = to_finals(syllable, strict=True, v_to_u=False)
    rhyme = CLASSES.get(final)
    if final == "i" and to_initials(syllable) in APICAL_INITIALS:
        rhyme = APICAL_VOWEL
    if rhyme is None:
        return Reading("", "")
    return Reading(rhyme, LEVEL if syllable[-1] in "12" else OBLIQUE)


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
    return frozenset(map(_merged, usual | _readings_in_words().get(character, set())))


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


def _merged(syllable: str) -> str:
    """Without the differences that input methods ignore for speakers who don't make them."""
    return re.sub("^([zcs])h|([aei]n)g$", r"\1\2", syllable)
