"""What a text carries through translation: names, terms, numbers, what languages write alike."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from spacy.util import filter_spans

from ..text.scripts import HAN
from ..text.spans import stripped
from .featuriser import TranslationFeaturiser
from .names import NameTable, Placeholder
from .numbers import LATIN_LETTERS, half_width, latin_words, numbers
from .pinyin import in_english

_WITHIN = re.compile(rf"[{LATIN_LETTERS}]{{2}}")  # characters of one word
# As English writes them
MARKS = str.maketrans(
    "。，、；：！？（）“”‘’「」『』【】〔〕［］《》〈〉", ".,,;:!?()\"\"''\"\"''[][][]\"\"''"
)
BRACKETS = frozenset(("【】", "〔〕", "［］", "《》", "〈〉", "「」", "『』"))


def entity_names(
    text: str, ents: Iterable[tuple[int, int, str]], names: NameTable
) -> list[Placeholder]:
    """The entities of a text with a known translation.

    ents: characters [start, end) and label of each, in order.

    Raises ImportError (F030) if pinyin is needed and pypinyin isn't installed.
    """
    found = []
    for start, end, label in ents:
        name = "".join(line.strip() for line in text[start:end].split("\n"))
        start, end = stripped(text, start, end)
        known = names.get(name) or in_english(names.simplify(name), label)
        if known:
            found.append(Placeholder(start, end, known, label))
    return found


def with_terms(names: Sequence[Placeholder], text: str, terms: NameTable) -> list[Placeholder]:
    """The names of a text and the terms of a glossary in it, in order. The longest of overlapping
    ones counts, and a term replaces a name at the same place, but keeps its label."""
    labels = {name.span: name.label for name in names}
    both: list[Any] = [
        replace(term, label=labels.get(term.span, ""))
        for term in terms.find(text)
        if not any(_WITHIN.fullmatch(text[at - 1 : at + 1]) for at in term.span)
    ]
    both += names
    return filter_spans(both)  # type: ignore[return-value]  # which only reads start and end


def placeholders(
    text: str, names: Sequence[Placeholder], featuriser: TranslationFeaturiser
) -> list[Placeholder]:
    """Names, in brackets if they are, with all else that is carried, in order: numbers, and words
    in Latin letters and unknown characters, unless Chinese, with English punctuation."""
    names = [
        replace(name, around=around.translate(MARKS)) if around in BRACKETS else name
        for name in names
        for around in [text[name.start - 1 : name.start] + text[name.end : name.end + 1]]
    ]
    names = with_numbers(text, names)
    text = without(text, names)
    places = {place for place in featuriser.unknown(text) if not HAN.match(text[place])}
    for word in latin_words(text):
        places.update(range(word.start, word.end))
    runs = re.finditer("1+", "".join("01"[place in places] for place in range(len(text))))
    text = half_width(text).translate(MARKS)
    copied = (Placeholder(*run.span(), text[slice(*run.span())]) for run in runs)
    return sorted([*names, *copied], key=lambda name: name.start)


def with_numbers(text: str, names: Sequence[Placeholder]) -> list[Placeholder]:
    """Names and the numbers outside of them, in order."""
    found = [*names, *numbers(without(text, names))]
    return sorted(found, key=lambda name: name.start)


def without(text: str, names: Sequence[Placeholder]) -> str:
    """A text of the same length with line breaks in place of names."""
    characters = list(text)
    for name in names:
        start, end = name.span
        characters[start:end] = "\n" * (end - start)
    return "".join(characters)
