"""Traditional and simplified characters."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any

# Only the basic plane has pairs that texts need.
_HAN = "".join(map(chr, range(0x3400, 0xA000)))


@dataclass(frozen=True)
class Simplifier:
    """Reads traditional characters as the simplified ones that a network was trained on. A text
    keeps its length.

    pairs: each traditional character, followed by the simplified one.
    """

    pairs: str = ""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Simplifier":
        """For a network that is trained on these texts: OpenCC's pairs, except those whose
        traditional character is the more frequent one; none if the texts are mostly traditional."""
        counts = Counter(chain.from_iterable(texts))
        pairs = [(counts[old], counts[new], old + new) for old, new in simplified_pairs()]
        if sum(old for old, _, _ in pairs) >= sum(new for _, new, _ in pairs):
            return cls()
        return cls("".join(pair for old, new, pair in pairs if old <= new))

    def __call__(self, text: str) -> str:
        table = self._table
        # Few texts have any, and `translate` takes much longer than a search.
        return text.translate(table) if table and self._pattern.search(text) else text

    @cached_property
    def _table(self) -> dict[int, str]:
        return str.maketrans(dict(zip(self.pairs[::2], self.pairs[1::2], strict=True)))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(f"[{self.pairs[::2]}]")


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
