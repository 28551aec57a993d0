"""Chinese and other scripts: classes of characters, and other spellings of the same length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any

# For the classes of regular expressions.
LATIN_RANGES = "A-Za-zÀ-ÖØ-öø-ɏ"
HAN_RANGES = "\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # with 々, 〆 and 〇
UNSPACED_RANGES = HAN_RANGES + "\u3040-\u30ff"  # with kana, written without spaces too

# Zero width space, word joiner, byte order mark, soft hyphen: skipped where texts are read.
ZERO_WIDTH = re.compile("[\u200b\u2060\ufeff\u00ad]")

# Of each full-width character of ASCII, the half-width one.
HALF_WIDTH = {code + 0xFEE0: chr(code) for code in range(0x21, 0x7F)}

BRACKETS = "()[]{}<>（）［］｛｝＜＞〈〉《》【】〔〕〖〗「」『』｢｣"  # opening, closing, …
QUOTES = "“”‘’"
CLOSING = "”’」』）)\"'"  # what may follow the end of a sentence
SENTENCE_ENDS = "。！？!?"

HAN = re.compile(f"[{HAN_RANGES}]+")

MIN_WORDS = 3  # fewer may be acronyms or names, as in "BBC NEWS"
LINE = re.compile("[^\n\x1f]+")  # texts of a pair have \x1f in between
WORD = re.compile(r"[^\W\d_]{2,}")

# Only the basic plane has pairs that texts need.
_HAN = "".join(map(chr, range(0x3400, 0xA000)))


def lower_capitals(text: str) -> str:
    """Lower-case the lines of a text that are in capitals. The text keeps its length."""
    return LINE.sub(lambda line: _lower(line[0]), text)


def _lower(line: str) -> str:
    words = WORD.findall(line)
    # Chinese characters have no case, so a line of acronyms and Chinese is not in capitals.
    if len(words) < MIN_WORDS or not all(map(str.isupper, "".join(words))):
        return line
    if len(low := line.lower()) == len(line):
        return low
    # "İ" in lower case has two characters.
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in line)


@dataclass(frozen=True)
class Simplifier:
    """Reads traditional characters as the simplified ones that a network was trained on. A text
    keeps its length.

    pairs: each traditional character, followed by the simplified one.
    """

    pairs: str = ""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Simplifier:
        """For a network that is trained on these texts: OpenCC's pairs, except those whose
        traditional character is the more frequent one; none if the texts are mostly traditional."""
        counts = Counter(chain.from_iterable(texts))
        pairs = [(counts[old], counts[new], old + new) for old, new in simplified_pairs()]
        if sum(old for old, _, _ in pairs) >= sum(new for _, new, _ in pairs):
            return cls()
        return cls("".join(pair for old, new, pair in pairs if old <= new))

    def __call__(self, text: str) -> str:
        return text.translate(self._table)

    @cached_property
    def _table(self) -> dict[int, str]:
        return str.maketrans(dict(zip(self.pairs[::2], self.pairs[1::2], strict=True)))


@cache
def converter(config: str) -> Any:
    """OpenCC's, such as "t2s" or "s2tw"."""
    from opencc import OpenCC

    return OpenCC(config)


@cache
def simplified_pairs() -> list[tuple[str, str]]:
    """Traditional characters, each with its simplified one."""
    simplified = converter("t2s").convert("\n".join(_HAN)).split("\n")
    return [pair for pair in zip(_HAN, simplified, strict=True) if pair[0] != pair[1]]
