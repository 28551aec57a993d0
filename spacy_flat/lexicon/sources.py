"""Where words come from: jieba's dictionary, word lists, THUOCL files, word vectors."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors
from ..util.arguments import require
from ..util.files import decode, read_lines, require_exists
from ..vectors import read_vectors

UNKNOWN_FREQUENCY = -1.0
UNSET = -1.0  # of a word's trust
NOT_ENTITY = "not_entity"  # the type of words that must not become entities

Columns = tuple[str, float, str]  # word, frequency, type

# Lines of a word list that show which form it has.
FIRST_LINES = 100

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
# Not 1,2-二氯乙烷, N,N-二甲基甲酰胺 or Washington, D.C.
_COMMA_COLUMNS = re.compile(r"[^,\t]*(?:[^\x00-\x7f] *, *|[^,\d\s],)[\w.]*(?:, *\w+)?")


def _spaced_columns(types: Iterable[str]) -> re.Pattern[str]:
    """A word and its other columns: a frequency and perhaps a type, or one of these types."""
    others = "|".join([rf"{_NUMBER}(?: +\S+)?", *map(re.escape, types)])
    return re.compile(rf"\S+ +(?:{others})")


def _user_columns(types: Iterable[str]) -> re.Pattern[str]:
    """What follows a word, as jieba reads it, except that a type after a frequency may be anything,
    and one without a frequency one of these."""
    names = "|".join(["[a-z]+", *map(re.escape, types)])
    # Tries only the first of several spaces, so that the time stays linear.
    return re.compile(rf"(?<! ) +(?:({_NUMBER})(?: +(\S+))?|({names}))\Z")


class Entry(NamedTuple):
    """A word and its properties.

    trust: see `Lexicon.add`, from 0 to 1; -1 for the component's own setting.
    """

    word: str
    frequency: float = UNKNOWN_FREQUENCY
    type: str = ""  # "" is unknown
    origin: str = "added"
    trust: float = UNSET


@dataclass(frozen=True)
class WordList:
    """The entries of a source, and the numbers of omitted lines."""

    entries: list[Entry]
    skipped: tuple[int, ...] = ()

    def weighted(self, weight: float) -> "WordList":
        """The list with its frequencies multiplied; unknown ones stay unknown.

        Raises ValueError (F341) unless the weight is a positive number.
        """
        require("weight", weight, lambda: 0 < weight < math.inf, "a number above 0")
        if weight == 1:
            return self
        entries = [
            entry._replace(frequency=entry.frequency * weight)
            if entry.frequency != UNKNOWN_FREQUENCY
            else entry
            for entry in self.entries
        ]
        return WordList(entries, self.skipped)

    def trusted(self, trust: float | None) -> "WordList":
        """The list with this trust for all its words; unchanged for None. Raises ValueError (F341)
        for a trust that isn't from 0 to 1."""
        if trust is None:
            return self
        require("trust", trust, lambda: 0 <= trust <= 1, "a number from 0 to 1")
        return WordList([entry._replace(trust=trust) for entry in self.entries], self.skipped)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


class JiebaWords(WordList):
    """jieba's dictionary, parsed on first use, as a cached lexicon doesn't need it."""

    path: Path

    def __init__(self, path: Path) -> None:
        object.__setattr__(self, "path", path)  # frozen

    @cached_property
    def entries(self) -> list[Entry]:
        return read_words(self.path, separator=" ", origin="jieba").entries


def jieba_words() -> WordList:
    """The dictionary of the installed jieba: about 349,000 words, frequency, part of speech.

    Raises ModuleNotFoundError (F005) without jieba.
    """
    # Without importing jieba, which is slow and sets up its logger.
    spec = find_spec("jieba")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(Errors.F005)
    path = Path(spec.origin).with_name("dict.txt")
    require_exists(path)
    return JiebaWords(path)


def read_words(
    path: str | Path,
    *,
    type: str = "",
    origin: str | None = None,
    separator: str | None = None,
    skip_bad: bool = False,
    known_types: Sequence[str] = (),
) -> WordList:
    """Read a UTF-8 word list, plain, .gz or .xz, with lines `word[TAB frequency[TAB type]]`.

    Columns may be empty; skips blank lines. If most of the first 100 lines are `word frequency`,
    `word frequency type` or `word known-type` with spaces, the file is read as a user dictionary of
    jieba's: `word[ frequency][ type]`, where a type without a frequency is a known one or has the
    letters a to z.

    type: type of words that have none in the file.
    origin: the name of the source, by default the file's.
    separator: of the columns, whatever the first lines look like.
    known_types: types that may follow a word without a frequency.

    Raises ValueError naming file and line for a wrong encoding (F004), an empty word (F006), a bad
    frequency (F007), too many columns (F008), columns separated by spaces (F035) or commas
    (F045), and TABs in a user dictionary (F036); `skip_bad` omits such lines and lists them in
    `WordList.skipped`. File errors as in `read_lines`.
    """
    path = Path(path)
    spaced = _spaced_columns(known_types)
    if separator is None and _is_user_dictionary(path, spaced):
        return _read_user_dictionary(path, type, origin, skip_bad, _user_columns(known_types))

    def parse(line: str, path: Path, number: int) -> Columns:
        if separator is None:
            _check_separator(line, path, number, spaced)
        word, *rest = (column.strip() for column in line.split(separator or "\t"))
        if not word:
            raise ValueError(Errors.F006.format(path=path, line=number))
        if len(rest) > 2:
            columns = len(rest) + 1
            raise ValueError(Errors.F008.format(path=path, line=number, columns=columns))
        frequency, word_type = (*rest, "", "")[:2]
        return word, _frequency(frequency, path, number), word_type or type

    return _read(path, parse, origin, skip_bad)


def _check_separator(line: str, path: Path, number: int, spaced: re.Pattern[str]) -> None:
    """Raises ValueError as `read_words` for columns that other characters than TABs separate."""
    text = line.strip(" \r\n")
    for columns, error in ((spaced, Errors.F035), (_COMMA_COLUMNS, Errors.F045)):
        if columns.fullmatch(text):
            raise ValueError(error.format(path=path, line=number, text=text.strip()[:60]))


def _is_user_dictionary(path: Path, spaced: re.Pattern[str]) -> bool:
    """Whether most of the first lines have columns separated by spaces."""
    # With a TAB at the end the spaces belong to the word.
    filled = (raw.strip(b" \r\n") for _, raw in read_lines(path) if raw.strip())
    first = [raw.decode("utf-8", "replace") for raw in islice(filled, FIRST_LINES)]
    return 2 * sum(bool(spaced.fullmatch(line)) for line in first) > len(first)


def _read_user_dictionary(
    path: Path, type: str, origin: str | None, skip_bad: bool, columns: re.Pattern[str]
) -> WordList:
    """Read a user dictionary of jieba's. columns: what follows a word."""

    def parse(line: str, path: Path, number: int) -> Columns:
        if "\t" in line:
            raise ValueError(Errors.F036.format(path=path, line=number))
        line = line.strip()
        found = columns.search(line)
        if found is None:
            return line, UNKNOWN_FREQUENCY, type
        frequency, word_type, tag = found.groups(default="")
        return line[: found.start()], _frequency(frequency, path, number), word_type or tag or type

    return _read(path, parse, origin, skip_bad)


def read_thuocl(
    path: str | Path, *, type: str = "", origin: str | None = None, skip_bad: bool = False
) -> WordList:
    """Read a file of THUOCL (thunlp/THUOCL), with lines `word TAB document frequency`.

    The published files have stray spaces and some spoilt frequencies ("3?", "125472s"): their first
    digits count, otherwise the frequency is unknown.

    type: type of all words. Errors as in `read_words`, except F007.
    """

    def parse(line: str, path: Path, number: int) -> Columns:
        word, _, frequency = line.partition("\t")
        if not word.strip():
            raise ValueError(Errors.F006.format(path=path, line=number))
        digits = re.match(r"\s*([0-9]+)", frequency)
        return word.strip(), float(digits[1]) if digits else UNKNOWN_FREQUENCY, type

    return _read(Path(path), parse, origin, skip_bad)


def vector_words(
    path: str | Path, *, type: str = "", origin: str | None = None, skip_bad: bool = False
) -> WordList:
    """The keys of a file of word vectors; options and errors as in `read_vectors`. Doesn't check
    the vectors."""
    path = Path(path)
    entries: list[Entry] = []

    def note(key: str) -> bool:
        entries.append(Entry(key, type=type, origin=origin or path.name))
        return False

    vectors = read_vectors(path, skip_bad=skip_bad, keep=note)
    return WordList(entries, vectors.skipped)


def _read(
    path: Path, parse: Callable[[str, Path, int], Columns], origin: str | None, skip_bad: bool
) -> WordList:
    """Parse the lines that aren't blank."""
    entries = []
    skipped = []
    origin = origin or path.name
    for number, raw in read_lines(path):
        try:
            line = decode(raw, path, number)
            if line.strip():
                entries.append(Entry(*parse(line, path, number), origin))
        except ValueError:
            if not skip_bad:
                raise
            skipped.append(number)
    return WordList(entries, tuple(skipped))


def _frequency(text: str, path: Path, line: int) -> float:
    if not text:
        return UNKNOWN_FREQUENCY
    try:
        frequency = float(text)
    except ValueError:
        frequency = math.nan
    if not 0 <= frequency < math.inf:
        raise ValueError(Errors.F007.format(path=path, line=line, value=text))
    return frequency
