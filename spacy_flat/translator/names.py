"""Names to carry through translation, and their translations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from spacy.tokens import Doc
from spacy.util import filter_spans

from ..errors import Errors
from ..util.characters import HAN
from ..util.files import read_text_lines
from ..util.simplified import Simplifier
from .readings import read, read_place, read_surname

# Labels of entities to write in pinyin, in known corpora and spaCy's pipelines.
PERSONS = frozenset({"PER", "PERSON", "PER.NAM", "NAME"})
PLACES = frozenset({"LOC", "GPE", "LOC.NAM", "GPE.NAM", "ADDRESS", "SCENE"})

# In English they precede the surname.
TITLES = {"先生": "Mr.", "女士": "Ms.", "小姐": "Miss", "太太": "Mrs.", "夫人": "Mrs."}
# Kinds of places that English translates; longer ones first. A city (市) is named without its kind.
_DIVISIONS = (
    "特别行政区 Special Administrative Region, 自治区 Autonomous Region, "
    "自治州 Autonomous Prefecture, 自治县 Autonomous County, 新区 New Area, 地区 Region, "
    "大街 Street, 大道 Avenue, 省 Province, 市 , 区 District, 州 Prefecture, 县 County, 镇 Town, "
    "乡 Township, 村 Village, 路 Road, 街 Street"
)
DIVISIONS = dict(each.split(" ", 1) for each in _DIVISIONS.split(", "))
# Endings of countries, continents and oceans, which have English names.
FOREIGN_ENDS = ("共和国", "王国", "民国", "合众国", "美洲", "大洋洲", "南极洲", "太平洋", "大西洋")

_SPACES = re.compile(" +")
_BREAK = re.compile(r"\s*\n\s*")
_PARTS = re.compile(r"[·•・‧]")  # separates the parts of foreign names

# Words in Latin letters and numbers, with marks within: 3.14, 10:30, New York, tom@example.com.
# All languages write these alike.
_LATIN = "0-9A-Za-zÀ-ÖØ-öø-ɏ"
_WORD = rf"[{_LATIN}]+(?:[-+@._:/&'’,=?#~%]{{1,3}}[{_LATIN}]+)*%?"
LATIN = re.compile(rf"{_WORD}(?:,? {_WORD})*")
_WITHIN = re.compile(rf"[{_LATIN}]{{2}}")  # characters of one word

COMMON_NAMES = Path(__file__).with_name("common_names.tsv")


@dataclass(frozen=True)
class Protected:
    """A name in a source text, and its translation.

    start, end: characters of the source.
    text: the name in the target language.
    label: of the entity, or "".
    """

    start: int
    end: int
    text: str
    label: str = ""


# Lists of names


def name_list(path: Path | None) -> dict[str, str]:
    """`spacy-flat.NameList.v1`: names and their translations.

    path: a UTF-8 file, plain, .gz or .xz, with `name[TAB]translation` on each line. Skips blank
        lines and lines that start with "#". null for no names.

    Raises ValueError with file and line: F425 for other columns, F426 for two translations of a
    name; file errors as in `read_text_lines`.
    """
    names: dict[str, str] = {}
    for number, line in read_text_lines(Path(path)) if path is not None else ():
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        where = {"path": path, "line": number}
        if len(cells) != 2 or not all(cells):
            raise ValueError(Errors.F425.format(**where, found=line[:60]))
        name, text = cells
        if (first := names.setdefault(name, text)) != text:
            raise ValueError(Errors.F426.format(**where, name=name, first=first, second=text))
    return names


def is_name_list(names: object) -> bool:
    """Whether this maps names to translations: non-blank strings of one line each."""
    return isinstance(names, Mapping) and all(
        isinstance(each, str) and len(each.strip().splitlines()) == 1
        for pair in names.items()
        for each in pair
    )


def stripped_names(names: Mapping[str, str]) -> dict[str, str]:
    return {name.strip(): text.strip() for name, text in names.items()}


@cache
def common_names() -> Mapping[str, str]:
    """The English names of some 700 countries, cities, people and organisations."""
    return MappingProxyType(name_list(COMMON_NAMES))


@cache
def common_table() -> NameTable:
    return NameTable(common_names())


class NameTable:
    """Known names and their translations.

    own: the user's names, which come first.
    others: such as `common_names`.
    simplify: the network's; names are also known in the characters that it reads them as.
    """

    def __init__(
        self,
        own: Mapping[str, str],
        others: Mapping[str, str] | None = None,
        simplify: Simplifier | None = None,
    ) -> None:
        self.simplify = simplify or Simplifier()
        simplified = {self.simplify(name): text for name, text in own.items()}
        self._known = {**(others or {}), **simplified, **own}
        self._lengths = sorted({len(name) for name in self._known}, reverse=True)

    def get(self, name: str) -> str | None:
        return self._known.get(name) or self._known.get(self.simplify(name))

    def find(self, text: str) -> Iterator[Protected]:
        """The names in a text, left to right; the longest at each place."""
        simplified = self.simplify(text)
        start = 0
        while start < len(text):
            for length in self._lengths:
                end = start + length
                known = self._known.get(text[start:end]) or self._known.get(simplified[start:end])
                if known and end <= len(text):
                    yield Protected(start, end, known)
                    start = end
                    break
            else:
                start += 1


# Names of a Doc


def protected(doc: Doc, names: NameTable, pinyin: bool = True) -> list[Protected]:
    """The entities of a Doc with a known translation, without white space at their ends.

    pinyin: write other persons and places in pinyin, if possible.

    Raises ImportError (F030) if pinyin is needed and pypinyin isn't installed.
    """
    found = []
    whole = doc.text  # spaCy joins it on each access
    for ent in doc.ents:
        start = ent.start_char + len(ent.text) - len(ent.text.lstrip())
        end = start + len(ent.text.strip())
        name = _BREAK.sub("", whole[start:end])
        text = names.get(name)
        if text is None and pinyin:
            text = in_pinyin(names.simplify(name), ent.label_)
        if text:
            found.append(Protected(start, end, text, ent.label_))
    return found


def with_terms(names: Sequence[Protected], text: str, terms: NameTable) -> list[Protected]:
    """The names of a text and the terms of a glossary in it, in order. The longest of overlapping
    ones counts, and a term replaces a name at the same place, but keeps its label."""
    labels = {(name.start, name.end): name.label for name in names}
    own = [
        replace(term, label=labels.get((term.start, term.end), ""))
        for term in terms.find(text)
        if not any(_WITHIN.fullmatch(text[at - 1 : at + 1]) for at in (term.start, term.end))
    ]
    both: list[Any] = [*own, *names]  # spaCy only reads start and end
    return filter_spans(both)  # type: ignore[return-value]


def in_pinyin(name: str, label: str) -> str | None:
    """The common English name of a person or a place, or else pinyin: 日本 → "Japan", 王小明 →
    "Wang Xiaoming", 嘉定区 → "Jiading District". None for other labels, and if pinyin would be
    wrong or incomplete: for other countries, names without Chinese characters, rare ones.

    label: in upper or lower case.

    Keeps characters of other scripts. Raises ImportError (F030) without pypinyin.
    """
    kind = label.upper()
    if kind not in PERSONS | PLACES or not HAN.search(name):
        return None
    if common := _commonly(name, kind):
        return common
    if kind in PLACES and name.endswith(FOREIGN_ENDS):
        return None
    written = person_in_pinyin(name) if kind in PERSONS else place_in_pinyin(name)
    return None if HAN.search(written) else written  # of characters without a known reading


def _commonly(name: str, kind: str) -> str | None:
    """The English name, also of a place within another: 美国加州 → "California, America"."""
    parts = list(common_table().find(name))
    if sum(part.end - part.start for part in parts) < len(name) or (
        len(parts) > 1 and kind in PERSONS
    ):
        return None
    return ", ".join(part.text for part in reversed(parts))


def person_in_pinyin(name: str) -> str:
    """The surname and the given name; the parts of a foreign name one by one. A title comes first:
    王先生 → "Mr. Wang"."""
    title = TITLES.get(name[-2:]) if len(name) > 2 else None
    if title is not None:
        return f"{title} {person_in_pinyin(name[:-2])}"
    parts = _PARTS.split(name)
    if len(parts) > 1 or not HAN.fullmatch(name):
        return " ".join(_capitalised(part) for part in parts if part)
    surname, syllables = read_surname(name)
    return f"{_joined(syllables)} {_capitalised(name[len(surname) :])}".strip()


def place_in_pinyin(name: str) -> str:
    """The joined syllables, followed by the division of a longer name."""
    for end, division in DIVISIONS.items():
        if name.endswith(end) and len(name) >= len(end) + 2:
            place = name.removesuffix(end)
            common = common_names().get(place)
            if common and end == "州":  # a state: 华盛顿州
                return common
            return f"{common or _capitalised(place, read_place)} {division}".strip()
    return _capitalised(name, read_place)


def _capitalised(text: str, syllables: Callable[[str], list[str]] = read) -> str:
    """A text with capitalised pinyin for each run of Chinese characters."""
    return HAN.sub(lambda found: _joined(syllables(found[0])), text)


def _joined(syllables: Sequence[str]) -> str:
    """Syllables as one word, with an apostrophe before a vowel: Xi'an."""
    word = "".join(f"'{each}" if each[0] in "aeo" else each for each in syllables)
    return word.removeprefix("'").capitalize()


# Names in a translation


def with_names(
    stretches: Iterable[str | int], names: Sequence[Protected]
) -> tuple[str, list[tuple[int, int]]]:
    """Join a translation, without white space before it. Returns its text, and the place of each
    name: (start, end) in characters.

    stretches: texts and numbers of names, left to right.

    A space separates words, and names from punctuation before them. An entity is a word whatever it
    begins and ends with (Yahoo!, .NET); other texts are where they begin or end with a letter or a
    digit. The full stop of a name (3 p.m.) also ends a sentence.
    """
    text = ""
    places = [(0, 0)] * len(names)
    ends_with_word = after_name = False
    for each in stretches:
        is_entity = isinstance(each, int) and bool(names[each].label)
        spelled = names[each].text if isinstance(each, int) else _SPACES.sub(" ", each)
        if not text or text.endswith(" "):
            spelled = spelled.lstrip(" ")
        if after_name and text.endswith("."):
            spelled = spelled.removeprefix(".")
        after_name = isinstance(each, int)
        if not spelled:
            continue
        is_word = is_entity or spelled[0].isalnum()
        is_after_mark = isinstance(each, int) and text.endswith(tuple(",;:.!?"))
        if is_word and (ends_with_word or is_after_mark):
            text += " "
        text += spelled
        if isinstance(each, int):
            places[each] = len(text) - len(spelled), len(text)
        ends_with_word = is_entity or spelled[-1].isalnum()
    return text, places


# Names of training pairs


def places(target: str, names: Sequence[Protected]) -> list[tuple[int, int] | None]:
    """The places of names in a translation, as whole words: (start, end) in characters, without
    overlaps, or None for a missing one. Searches longer names first."""
    found: list[tuple[int, int] | None] = [None] * len(names)
    for number in sorted(range(len(names)), key=lambda number: -len(names[number].text)):
        taken = [place for place in found if place is not None]
        wanted = re.compile(rf"(?<!\w){re.escape(names[number].text)}(?!\w)")
        spans = (match.span() for match in wanted.finditer(target))
        found[number] = next((span for span in spans if not _overlaps(span, taken)), None)
    return found


def _overlaps(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
