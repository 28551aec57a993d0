"""Names and their translations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ..errors import Errors
from ..text.scripts import Simplifier
from ..util.files import read_text_lines

COMMON_NAMES = Path(__file__).with_name("common_names.tsv")


@dataclass(frozen=True)
class Placeholder:
    """Characters [start, end) of a source that the network reads and writes as a placeholder: a
    name, a term of a glossary, a number, or what both languages write alike.

    text: in the target language.
    label: of an entity, or "".
    around: the brackets around it, in the target language, or "".
    """

    start: int
    end: int
    text: str
    label: str = ""
    around: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """With its brackets."""
        is_within = bool(self.around)
        return self.start - is_within, self.end + is_within

    @property
    def written(self) -> str:
        """With its brackets."""
        return f"{self.around[:1]}{self.text}{self.around[1:]}"


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
        own = {name.strip(): text.strip() for name, text in own.items()}
        simplified = {self.simplify(name): text for name, text in own.items()}
        self._known = {**(others or {}), **simplified, **own}
        self._lengths = sorted({len(name) for name in self._known}, reverse=True)

    def get(self, name: str) -> str | None:
        return self._known.get(name) or self._known.get(self.simplify(name))

    def find(self, text: str) -> Iterator[Placeholder]:
        """The names in a text, left to right; the longest at each place."""
        simplified = self.simplify(text)
        start = 0
        while start < len(text):
            for length in self._lengths:
                end = start + length
                known = self._known.get(text[start:end]) or self._known.get(simplified[start:end])
                if known and end <= len(text):
                    yield Placeholder(start, end, known)
                    start = end
                    break
            else:
                start += 1
