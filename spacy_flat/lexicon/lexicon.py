"""The lexicon: words, their properties, and where they occur in texts."""

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from numbers import Real
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors, Warnings
from ..util.arguments import require
from ..util.arrays import Bools, Float32s, Int32s, Ints
from ..util.files import replacing
from ..util.simplified import Simplifier
from ..vectors.table import FLOAT32_MAX
from . import storage
from .automaton import PIECE, find_all
from .content import EMPTY, Content
from .full_width import fold_full_width
from .latin import cuts
from .sources import NOT_ENTITY, UNKNOWN_FREQUENCY, UNSET, Entry, read_words

# Separates the texts of one search, so no word may contain it.
SEPARATOR = "\0"
_UNSEARCHABLE = re.compile(f"[{SEPARATOR}\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HAN = "[\u3400-\u9fff]"
_SEVERAL = re.compile(rf'{_HAN}[ 、；;/]{_HAN}|\u3000|^".*"$|^\[')

TOP_FREQUENCY = 1e6  # from here on in the last band


@dataclass(frozen=True)
class Matches:
    """M occurrences of words in texts, sorted by (text, start, end), as int32 arrays [M].

    texts: indices of the texts. starts, ends: characters of the text. words: ids of the words.
    """

    texts: Int32s
    starts: Int32s
    ends: Int32s
    words: Int32s

    def __len__(self) -> int:
        return len(self.words)


class Lexicon:
    """Words with ids 0, 1, … and properties, and their occurrences in texts.

    entries: the words in the order of their ids. If a word is repeated, the first entry counts.
    full_width: treat full-width forms (Ａ, １, the ideographic space) as plain ones.
    min_length: minimum characters of a word; shorter ones are omitted, and those of more than
        32,768 characters. Surrounding white space is stripped.
    simplified: the pairs of a `Simplifier`. Words in simplified characters are also found in
        traditional ones, and words added later in traditional characters become simplified.

    Ids are stable: new words get new ids at the end, and a removed word keeps its id. Other threads
    can search while the lexicon changes: a search sees all of a change or nothing of it. The
    columns are read-only arrays [N] of all ids. Read them after `match`, so that they include all
    words it found.

    Raises ValueError for an invalid min_length (F341) or frequency (F021), TypeError (F029) for
    other entries.
    """

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        full_width: bool = False,
        min_length: int = 2,
        simplified: str = "",
    ) -> None:
        # True is an int.
        if type(min_length) is not int or not 1 <= min_length <= PIECE:
            wanted = f"a whole number from 1 to {PIECE}"
            words = {"name": "min_length", "value": min_length, "wanted": wanted}
            raise ValueError(Errors.F341.format(**words))
        self.full_width = full_width
        self.min_length = min_length
        self.simplifier = Simplifier(simplified)
        self._lock = Lock()
        self._advised: Sequence[str] | None = None  # types, if no others may be added
        self._content = EMPTY
        self._insert(entries, update=False)

    def __len__(self) -> int:
        """Number of words, without removed ones."""
        return int(self._content.alive.sum())

    def __iter__(self) -> Iterator[str]:
        """The words in the order of their ids, without removed ones."""
        content = self._content
        return (content.word(int(id)) for id in np.flatnonzero(content.alive))

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.index(word) >= 0

    @property
    def size(self) -> int:
        """Number of ids, N, including those of removed words."""
        return self._content.size

    def word(self, id: int) -> str:
        """The word with an id, removed or not. Raises IndexError (F027) for an unknown id."""
        content = self._content
        if not (isinstance(id, int | np.integer) and 0 <= id < content.size):
            raise IndexError(Errors.F027.format(id=id, size=content.size))
        return content.word(int(id))

    def index(self, word: str) -> int:
        """The id of a word, or -1 if it isn't in the lexicon. Raises TypeError (F028) for anything
        but a string."""
        if not isinstance(word, str):
            raise _no_string(word)
        content = self._content
        word = self.normalise(word)
        id = -1 if self._fault(word) else content.index(word)
        if id < 0 and (simplified := self.simplifier(word)) != word:
            return self.index(simplified)
        return id if id >= 0 and content.alive[id] else -1

    @property
    def lengths(self) -> Int32s:
        """Characters of each word, [N]."""
        return self._content.lengths

    @property
    def frequencies(self) -> Float32s:
        """Frequency of each word in its source, [N]; -1 if unknown."""
        return self._content.frequencies

    @property
    def types(self) -> Int32s:
        """Type of each word, [N], an index into `type_names`."""
        return self._content.types

    @property
    def type_names(self) -> tuple[str, ...]:
        """All types of words, "" (unknown) first."""
        return self._content.type_names

    @property
    def origins(self) -> Int32s:
        """Source of each word, [N], an index into `origin_names`."""
        return self._content.origins

    @property
    def origin_names(self) -> tuple[str, ...]:
        """All sources of words, by name."""
        return self._content.origin_names

    @property
    def alive(self) -> Bools:
        """False for removed words, [N]."""
        return self._content.alive

    @property
    def trusts(self) -> Float32s:
        """The trust of each word, [N]; -1 for the component's own setting."""
        return self._content.trusts

    @property
    def dropped(self) -> dict[str, int]:
        """The number of omitted words by reason: "duplicate", "empty", "short", "long", and
        "invalid" for words with NUL or a surrogate."""
        return dict(self._content.dropped)

    def frequency_bands(self, n: int = 8) -> NDArray[np.int8]:
        """Frequencies in n bands, [N]: 0 for unknown ones, 1 to n - 1 from rare to frequent, in
        equal steps of the logarithm up to a million. Raises ValueError (F341) for n outside 2 to
        127."""
        if not (isinstance(n, int) and 2 <= n <= 127):
            words = {"name": "n", "value": n, "wanted": "a whole number from 2 to 127"}
            raise ValueError(Errors.F341.format(**words))
        frequencies = self._content.frequencies
        share = np.log1p(np.maximum(frequencies, 0)) / np.log1p(TOP_FREQUENCY)
        bands = 1 + np.minimum(share * (n - 1), n - 2)
        return np.where(frequencies < 0, 0, bands).astype(np.int8)

    def normalise(self, text: str) -> str:
        """The form in which a text is searched."""
        return fold_full_width(text) if self.full_width else text

    def match(self, texts: Sequence[str]) -> Matches:
        """Find all occurrences of all words, including overlapping ones, in one pass. A word isn't
        found where it would cut a longer word in Latin, Greek or Cyrillic letters, or a number:
        "Meta" in "Metal", "3M" in "33M".

        Raises TypeError unless the texts are a list (F026) of strings (F028).
        """
        texts = _strings(texts)
        content = self._content
        # No word has a surrogate, which can't be searched.
        joined = _SURROGATE.sub(SEPARATOR, self.normalise(SEPARATOR.join(texts)))
        starts, lengths, words = self._search(content, joined)
        alive = content.alive[words]
        cut = cuts(joined)
        if cut is not None:
            alive &= ~(cut[starts] | cut[starts + lengths])
        if not alive.all():
            starts, lengths, words = starts[alive], lengths[alive], words[alive]
        # Where each text begins in the joined one.
        sizes = (len(text) + len(SEPARATOR) for text in texts)
        firsts = np.array(list(accumulate(sizes, initial=0)), np.int64)
        bounds = np.searchsorted(starts, firsts)
        counts = bounds[1:] - bounds[:-1]
        local = (starts - np.repeat(firsts[:-1], counts)).astype(np.int32)
        numbers = np.repeat(np.arange(len(texts), dtype=np.int32), counts)
        return Matches(numbers, local, local + lengths, words)

    def _search(self, content: Content, text: str) -> tuple[Ints, Int32s, Int32s]:
        """Starts, lengths and ids of the words in a text, in order. Of two spellings of the same
        characters the text's own wins."""
        found = find_all(content.automata, text, content.longest)
        simplified = self.simplifier(text)
        if simplified == text:
            return found
        both = np.hstack([found, find_all(content.automata, simplified, content.longest)])
        _, first = np.unique(both[:2], axis=1, return_index=True)
        starts, lengths, words = both[:, first]
        return starts, lengths.astype(np.int32), words.astype(np.int32)

    def add(
        self,
        words: Iterable[str],
        type: str = "",
        frequency: float | None = None,
        origin: str = "added",
        trust: float | None = None,
    ) -> int:
        """Add words, which the next `match` finds. Returns the number of new words.

        If a word is already known, its origin is updated, and its type, frequency and trust if they
        are given; a type without a trust brings back the default trust. A removed word gets its old
        id again. Add many words in one call: each call rebuilds the automaton of all added words.

        type: for names, a label of the component; "not_entity" for words that aren't entities.
        trust: how strongly the words count. With 0 the network decides, with 1 they are always
            what the type says; in between, the odds of this are divided by 1 - trust. By default
            the component's own setting, and 1 for "not_entity".

        Warns (W001) about words that are empty, too short, too long or can't be searched for.
        Raises TypeError unless the words are a list (F026) of strings (F028) and type and origin
        are strings (F038), ValueError for an invalid frequency (F021) or trust (F341), for a trust
        of words without a type (F046) and, in the lexicon of a trained pipeline, for a type that
        its network doesn't know (F044).
        """
        self._check_type(type)
        _check_name("origin", origin)
        known = UNKNOWN_FREQUENCY if frequency is None else frequency
        if trust is not None:
            require("trust", trust, lambda: 0 <= trust <= 1, "a number from 0 to 1")
        sure = UNSET if trust is None else trust
        words = _strings(words)
        if trust and not type:
            self._check_typed(words)
        entries = [Entry(word, known, type, origin, sure) for word in words]
        count, faulty = self._insert(entries, update=True)
        self._warn(faulty)
        return count

    def update(
        self,
        path: str | Path,
        *,
        type: str = "",
        skip_bad: bool = False,
        trust: float | None = None,
    ) -> int:
        """Add the words of a file (see `read_words`). Returns the number of new words.

        In a trained pipeline's lexicon, its types may follow a word after a space (`人和药店 ORG`).
        The file becomes the origin of words already known, and they get the types, frequencies and
        trust that are given. Raises TypeError (F039) for anything but a path; otherwise warns and
        raises as `add` and `read_words`. Also warns (W004) about words that look like several.
        """
        if not isinstance(path, str | os.PathLike):
            raise TypeError(Errors.F039.format(value=_short(path)))
        self._check_type(type)
        # A type of one letter may well be the end of a word.
        types = [name for name in (*(self._advised or ()), NOT_ENTITY) if len(name) > 1]
        words = read_words(path, type=type, skip_bad=skip_bad, known_types=types)
        several = [
            entry.word
            for entry in words
            if not entry.type and entry.frequency < 0 and _SEVERAL.search(entry.word)
        ]
        if several:
            found = {"path": path, "count": len(several), "word": several[0][:60]}
            warnings.warn(Warnings.W004.format(**found), stacklevel=2)
        entries = words.trusted(trust)
        count, faulty = self._insert(entries, update=True)
        self._warn(faulty)
        return count

    def _check_typed(self, words: Sequence[str]) -> None:
        """Raise ValueError (F046) for words without a type that counts."""
        names = self.type_names
        counted = {*(names if self._advised is None else (*self._advised, NOT_ENTITY))} - {""}
        usable = (word for word in map(str.strip, words) if not self._fault(word))
        bare = [
            word
            for word in usable
            if (id := self.index(word)) < 0 or names[self.types[id]] not in counted
        ]
        if bare:
            raise ValueError(Errors.F046.format(words=", ".join(map(_short, bare[:3]))))

    def remove(self, words: Iterable[str]) -> int:
        """Remove words. They keep their ids. Returns the number of known words.

        Raises TypeError unless the words are a list (F026) of strings (F028).
        """
        words = _strings(words)
        with self._lock:
            ids = {self.index(word) for word in words} - {-1}
            alive = self._content.alive.copy()
            alive[list(ids)] = False
            self._content = replace(self._content, alive=alive)
        return len(ids)

    def declare_types(self, types: Sequence[str]) -> list[int]:
        """Add types before any word has them. Returns their indices in `type_names`.

        Raises TypeError unless the types are a list (F026) of strings (F028).
        """
        types = _strings(types)
        with self._lock:
            known = dict.fromkeys([*self._content.type_names, *types])
            self._content = replace(self._content, type_names=tuple(known))
        return [self.type_names.index(type) for type in types]

    def close_types(self, advised: Sequence[str]) -> None:
        """Make `add` and `update` reject new types, except the advised ones, which the error
        lists."""
        self._advised = advised

    def _check_type(self, type: object) -> None:
        _check_name("type", type)
        if self._advised is None:
            return
        if type not in (*self.type_names, *self._advised, NOT_ENTITY):
            known = ", ".join(map(repr, self._advised)) or "none"
            raise ValueError(Errors.F044.format(type=type, known=known))

    def select(self, ids: Sequence[int] | NDArray[np.integer]) -> "Lexicon":
        """A lexicon of the words with these ids, which get the ids 0, 1, …

        Types keep their numbers, and removed words stay removed.
        """
        ids = np.asarray(ids, dtype=np.int64)
        selected = Lexicon(**self._settings)
        selected.declare_types(self.type_names)
        selected._insert(map(self._entry, ids.tolist()), update=False)
        selected._content = replace(selected._content, alive=self.alive[ids])
        return selected

    def _entry(self, id: int) -> Entry:
        content = self._content
        return Entry(
            content.word(id),
            float(content.frequencies[id]),
            content.type_names[content.types[id]],
            content.origin_names[content.origins[id]],
            float(content.trusts[id]),
        )

    def _insert(self, entries: Iterable[Entry], update: bool) -> tuple[int, dict[str, list[str]]]:
        """Insert entries, with `update` also those of known words.

        Returns how many words are new, and the words that can't be inserted, by fault.
        """
        with self._lock:
            content = self._content
            duplicates = 0
            faulty: dict[str, list[str]] = {}
            new: dict[str, Entry] = {}
            known: dict[int, Entry] = {}
            for entry in entries:
                _check(entry)
                word = self.normalise(entry.word).strip()
                if fault := self._fault(word):
                    faulty.setdefault(fault, []).append(entry.word)
                    continue
                id = content.index(word)
                if update and id < 0:
                    word = self.simplifier(word)
                    id = content.index(word)
                there = id >= 0 and content.alive[id]
                if word in new or id in known or (there and not update):
                    duplicates += 1
                elif id < 0:
                    new[word] = entry
                else:
                    known[id] = entry
            revived = [id for id in known if not content.alive[id]]
            dropped = Counter(content.dropped)
            dropped.update({fault: len(words) for fault, words in faulty.items()})
            if duplicates:
                dropped["duplicate"] += duplicates
            content = content.overwrite(known).append(new)
            self._content = replace(content, dropped=dict(dropped))
        return len(new) + len(revived), faulty

    def _fault(self, word: str) -> str | None:
        """Why a word is omitted, if it is."""
        if not word:
            return "empty"
        if len(word) < self.min_length:
            return "short"
        if len(word) > PIECE:
            return "long"
        if _UNSEARCHABLE.search(word):
            return "invalid"
        return None

    def _warn(self, faulty: Mapping[str, Sequence[str]]) -> None:
        """Warn (W001) the caller's caller of omitted words."""
        if not faulty:
            return
        faults = "; ".join(
            f"{len(words)} {fault} ({', '.join(map(_short, words[:3]))}"
            f"{', …' if len(words) > 3 else ''})"
            for fault, words in faulty.items()
        )
        message = Warnings.W001.format(faults=faults, shortest=self.min_length, longest=PIECE)
        warnings.warn(message, stacklevel=3)

    def to_bytes(self) -> bytes:
        """A header (JSON) and the arrays (safetensors)."""
        return storage.to_bytes(self._content, self._settings)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Lexicon":
        """Load from `to_bytes`. Raises ValueError for damaged data (F024) and for another version's
        format (F025)."""
        return cls._restore(*storage.from_bytes(data))

    def to_disk(self, path: str | Path) -> None:
        """Write a folder with the file `lexicon.bin`. If writing fails, the old file is kept."""
        with replacing(Path(path) / storage.FILE) as temporary:
            temporary.write_bytes(self.to_bytes())

    @classmethod
    def from_disk(cls, path: str | Path) -> "Lexicon":
        """Load from `to_disk`. Raises FileNotFoundError (F023) if the file is missing; otherwise as
        `from_bytes`."""
        file = Path(path) / storage.FILE
        if not file.is_file():
            raise FileNotFoundError(Errors.F023.format(path=path, file=storage.FILE))
        return cls.from_bytes(file.read_bytes())

    def __copy__(self) -> "Lexicon":
        return self._restore(self._content, self._settings)  # content is immutable

    def __reduce__(self) -> tuple[Any, ...]:
        return Lexicon.from_bytes, (self.to_bytes(),)

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            "full_width": self.full_width,
            "min_length": self.min_length,
            "simplified": self.simplifier.pairs,
        }

    @classmethod
    def _restore(cls, content: Content, settings: dict[str, Any]) -> "Lexicon":
        lexicon = cls(**settings)
        lexicon._content = content
        return lexicon


def check_lexicon(lexicon: object) -> None:
    """Raise TypeError (F041) for anything but a lexicon or None."""
    if not isinstance(lexicon, Lexicon | None):
        raise TypeError(Errors.F041.format(value=_short(lexicon)))


def _strings(values: Iterable[str]) -> list[str]:
    """The values as a list. Raises TypeError unless they are a list (F026) of strings (F028)."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise TypeError(Errors.F026.format(value=_short(values)))
    found = list(values)
    wrong = [value for value in found if not isinstance(value, str)]
    if wrong:
        raise _no_string(wrong[0])
    return found


def _no_string(value: object) -> TypeError:
    return TypeError(Errors.F028.format(value=_short(value), type=type(value).__name__))


def _check(entry: Entry) -> None:
    """Raise TypeError (F029) or ValueError (F021, F341) for a bad entry."""
    if not (
        isinstance(entry, Entry)
        and isinstance(entry.word, str)
        and isinstance(entry.type, str)
        and isinstance(entry.origin, str)
    ):
        raise TypeError(Errors.F029.format(value=_short(entry)))
    frequency = entry.frequency
    if not isinstance(frequency, Real) or not (
        frequency == UNKNOWN_FREQUENCY or 0 <= frequency <= FLOAT32_MAX
    ):
        raise ValueError(Errors.F021.format(word=entry.word, value=frequency))
    if not isinstance(entry.trust, Real) or not (entry.trust == UNSET or 0 <= entry.trust <= 1):
        words = {"name": "trust", "value": entry.trust, "wanted": "a number from 0 to 1"}
        raise ValueError(Errors.F341.format(**words))


def _check_name(name: str, value: object) -> None:
    """Raise TypeError (F038) unless a type or an origin is a string."""
    if not isinstance(value, str):
        raise TypeError(Errors.F038.format(name=name, value=_short(value)))


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
