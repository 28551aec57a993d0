"""Rhymes of modern Mandarin: the 14 classes of 中华新韵 (Chinese Poetry Society, 2005), which group
near finals such as en, in, un and ün."""

from functools import cache

from ..util.options import require_installed

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
APICAL_INITIALS = ("zh", "ch", "sh", "r", "z", "c", "s")
CLASSES = {final: name for name, finals in RHYMES.items() for final in finals.split()}


@cache
def rhyme_of(character: str) -> str:
    """The rhyme class of the most frequent reading of a character with a tone, such as "唐"; "" if
    unknown.

    Raises ImportError (F030) without pypinyin.
    """
    require_installed("Rhymes", "pypinyin", "spacy-flat[poems]")
    from pypinyin import Style, pinyin
    from pypinyin.contrib.tone_convert import to_finals, to_initials

    (readings,) = pinyin(character, style=Style.TONE3, heteronym=True, errors="ignore") or [[]]
    syllable = next((each for each in readings if each[-1:] in ("1", "2", "3", "4")), "")
    final = to_finals(syllable, strict=True, v_to_u=False)
    if final == "i" and to_initials(syllable) in APICAL_INITIALS:
        return APICAL_VOWEL
    return CLASSES.get(final, "")
