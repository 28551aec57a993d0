"""The rhymes and tones of characters in modern Mandarin.

Rhymes are the 14 classes of 中华新韵 (Chinese Poetry Society, 2005), which group near finals such
as en, in, un and ün. Tones 1 and 2 are level, 3 and 4 oblique. Those of Tang poets differed:
characters of the lost entering tone now have any of the four.
"""

from functools import cache
from typing import NamedTuple

from ..util.arguments import needed
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
    """The rhyme class of a character, such as "唐", and its tone, "平" or "仄"."""

    rhyme: str
    tone: str


@cache
def reading(character: str) -> Reading | None:
    """The most frequent reading of a character with a tone, if there is one.

    Raises ImportError (F030) without pypinyin.
    """
    with needed("Rhymes and tones", "pypinyin", "poems"):
        from pypinyin import Style, pinyin
    (readings,) = pinyin(character, style=Style.TONE3, heteronym=True, errors="ignore") or [[]]
    toned = next((each for each in readings if each[-1:] in ("1", "2", "3", "4")), None)
    if toned is None:
        return None
    return _read(toned)


def _read(syllable: str) -> Reading | None:
    """ "zhong1" → its rhyme and tone."""
    from pypinyin.contrib.tone_convert import to_finals, to_initials

    final = to_finals(syllable, strict=True, v_to_u=False)
    rhyme = CLASSES.get(final)
    if final == "i" and to_initials(syllable) in APICAL_INITIALS:
        rhyme = APICAL_VOWEL
    tone = LEVEL if syllable[-1] in "12" else OBLIQUE
    return Reading(rhyme, tone) if rhyme is not None else None
