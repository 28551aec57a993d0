"""The lexicon: words, their properties, and where they occur in texts."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors, Warnings
from ..util.arguments import require
from ..util.files import replacing
from ..util.simplified import Simplifier
from ..vectors import FLOAT32_MAX
from . import storage
from .automaton import PIECE
from .snapshot import Matches, Snapshot
from .word_lists import NOT_ENTITY, UNKNOWN_FREQUENCY, UNSET, Entry, read_words

FILE = "lexicon.bin"

_HAN = "[\u3400-\u9fff]"
_SEVERAL = re.compile(rf'{_HAN}[ 、；;/]{_HAN}|\u3000|^".*"$|^\[')


@dataclass(eq=False)
class _Layer:
    """A temporary change of what a lexicon is in one context (a thread, or an asyncio task)."""

    lexicon: "Lexicon"
    apply: Callable[[Snapshot], Snapshot]
    ended: bool = False


_layers: ContextVar[tuple[_Layer, ...]] = ContextVar("spacy_flat_lexicon_layers", default=())


class Lexicon:
    """Words with ids 0, 1, … and properties, and their occurrences in texts.

    entries: the words in the order of their ids. If a word is repeated, the first entry counts.
    full_width: treat full-width forms (Ａ, １, the ideographic space) as plain ones.
    ignore_case: find words in letters that have a case whatever their case: KFC in kfc. Of words
        that differ only in it, the one spelled like the text is found, or the first.
    min_length: minimum characters of a word; shorter ones are omitted, and those of more than
        32,768 characters. Surrounding white space and zero-width characters are stripped.
    simplified: the pairs of a `Simplifier`. Words in simplified characters are also found in
        traditional ones, and words added later in traditional characters become simplified.

    Ids are stable: new words get new ids at the end, and a removed word keeps its id. Other threads
    can search while the lexicon changes: use one `snapshot` for a search and the columns of what it
    found.

    Raises ValueError for an invalid min_length (F341) or frequency (F021), TypeError (F029) for
    other entries.
    """

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        full_width: bool = False,
        ignore_case: bool = True,
        min_length: int = 2,
        simplified: str = "",
    ) -> None:
        wanted = f"a whole number from 1 to {PIECE}"
        is_right = isinstance(min_length, int) and 1 <= min_length <= PIECE
        require("min_length", min_length, lambda: is_right, wanted)
        self._lock = Lock()
        self._advised: Sequence[str] | None = None  # types, if no others may be added
        self._snapshot, _, _ = Snapshot(
            full_width, ignore_case, min_length, Simplifier(simplified)
        ).insert(map(_checked, entries), update=False)

    @property
    def snapshot(self) -> Snapshot:
        """The words now, in this context: with the temporary words of `with_words`."""
        snapshot = self._snapshot
        for layer in _layers.get():
            if layer.lexicon is self and not layer.ended:
                snapshot = layer.apply(snapshot)
        return snapshot

    @contextmanager
    def pinned(self) -> Iterator[Snapshot]:
        """Let the lexicon stay the same in this context, whatever other threads change."""
        snapshot = self.snapshot
        with self._layered(lambda _: snapshot):
            yield snapshot

    @contextmanager
    def with_words(
        self, words: Iterable[tuple[str, str]] | Mapping[str, str], trust: float | None = None
    ) -> Iterator[None]:
        """Temporarily add words with their types, for this context (a thread, or an asyncio task)
        and processes forked from it; errors and warnings as in `add`."""
        entries = self._entries(dict(words), "", None, trust)
        latest = self.snapshot, self._warned(self.snapshot.insert(entries))

        def apply(base: Snapshot) -> Snapshot:
            nonlocal latest
            before, after = latest
            if before is not base:  # the lexicon has changed meanwhile
                after, _, _ = base.insert(entries)
                latest = base, after
            return after

        with self._layered(apply):
            yield

    @contextmanager
    def _layered(self, apply: Callable[[Snapshot], Snapshot]) -> Iterator[None]:
        layer = _Layer(self, apply)
        _layers.set((*_layers.get(), layer))
        try:
            yield
        finally:
            # Layers may end in any order, and in another thread.
            layer.ended = True
            _layers.set(tuple(each for each in _layers.get() if each is not layer))

    def __len__(self) -> int:
        return int(self.snapshot.alive.sum())

    def __iter__(self) -> Iterator[str]:
        """The words in the order of their ids, without removed ones."""
        snapshot = self.snapshot
        return (snapshot.word(id) for id in np.flatnonzero(snapshot.alive).tolist())

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.index(word) >= 0

    def index(self, word: str) -> int:
        """The id of the word that is found in a text like this, or -1. Raises TypeError (F028) for
        anything but a string."""
        (word,) = _strings([word])
        return next(iter(self.snapshot.ids_of(word)), -1)

    def entry(self, word: str) -> Entry | None:
        """The word that is found in a text like this, and its properties; None without any."""
        snapshot = self.snapshot
        ids = snapshot.ids_of(word)
        return snapshot.entry(ids[0]) if ids else None

    def match(self, texts: Sequence[str]) -> Matches:
        """Find all occurrences of all words, including overlapping ones, in one pass. A word isn't
        found where it would cut a longer word in Latin, Greek or Cyrillic letters, or a number:
        "Meta" in "Metal", "3M" in "33M". Zero-width characters within a word are passed over.

        Raises TypeError unless the texts are a list (F026) of strings (F028).
        """
        return self.snapshot.match(_strings(texts))

    def add(
        self,
        words: Iterable[str] | Mapping[str, str],
        type: str = "",
        frequency: float | None = None,
        trust: float | None = None,
    ) -> int:
        """Add words, which the next `match` finds. Returns the number of new words.

        If a word is already known, its type, frequency and trust are updated if they are given; a
        type without a trust brings back the default trust. A removed word gets its old id again.
        Add many words in one call: each call rebuilds the automaton of all added words.

        words: a list, or a dictionary with the type of each word.
        type: for names, a label of the component; "not_entity" for words that aren't entities.
        trust: how strongly the words count. With 0 the network decides, with 1 they are always
            what the type says; in between, the odds of this are divided by 1 - trust. By default
            the component's own setting, and 1 for "not_entity".

        Warns (W001) about words that are empty, too short, too long or can't be searched for.
        Raises TypeError unless the words are a list (F026) of strings (F028) and the type is a
        string (F038), ValueError for types given twice (F047), an invalid frequency (F021) or trust
        (F341), for a trust of words without a type (F046) and, in the lexicon of a trained
        pipeline, for a type that its network doesn't know (F044).
        """
        return self._insert(self._entries(words, type, frequency, trust))

    def update(self, path: str | Path, *, type: str = "", trust: float | None = None) -> int:
        """Add the words of a file (see `read_words`). Returns the number of new words.

        In a trained pipeline's lexicon, its types may follow a word after a space (`人和药店 ORG`).
        Words already known get the types, frequencies and trust that are given. Otherwise warns and
        raises as `add` and `read_words`. Also warns (W004) about words that look like several.
        """
        self._check_type(type)
        trust = _checked_trust(trust)
        # A type of one letter may well be the end of a word.
        types = [name for name in (*(self._advised or ()), NOT_ENTITY) if len(name) > 1]
        words = read_words(path, type=type, trust=trust, known_types=types)
        several = [
            entry.word
            for entry in words
            if not entry.type and entry.frequency < 0 and _SEVERAL.search(entry.word)
        ]
        if several:
            found = {"path": path, "count": len(several), "word": several[0][:60]}
            warnings.warn(Warnings.W004.format(**found), stacklevel=2)
        return self._insert(words)

    def remove(self, words: Iterable[str]) -> int:
        """Remove words. They keep their ids. Returns the number of known words.

        Raises TypeError unless the words are a list (F026) of strings (F028).
        """
        words = _strings(words)
        with self._lock:
            self._snapshot, count = self._snapshot.remove(words)
        return count

    def declare_types(self, types: Sequence[str]) -> list[int]:
        """Add types before any word has them. Returns their indices in `type_names`."""
        with self._lock:
            names = tuple(dict.fromkeys([*self._snapshot.type_names, *types]))
            self._snapshot = replace(self._snapshot, type_names=names)
        return [names.index(type) for type in types]

    def close_types(self, advised: Sequence[str]) -> None:
        """Make `add` and `update` reject new types, except the advised ones, which the error
        lists."""
        self._advised = advised

    def simplify(self, simplifier: Simplifier) -> None:
        """From now on, find words in simplified characters in traditional ones, too."""
        with self._lock:
            self._snapshot = replace(self._snapshot, simplifier=simplifier)

    def select(self, ids: Sequence[int] | NDArray[np.integer]) -> "Lexicon":
        """A lexicon of the words with these ids, which get the ids 0, 1, …

        Types keep their numbers, and removed words stay removed.
        """
        ids = np.asarray(ids, dtype=np.int64)
        snapshot = self.snapshot
        empty = Snapshot(
            snapshot.full_width,
            snapshot.ignore_case,
            snapshot.min_length,
            snapshot.simplifier,
            type_names=snapshot.type_names,
        )
        selected, _, _ = empty.insert(map(snapshot.entry, ids.tolist()), update=False)
        return self._of(replace(selected, alive=snapshot.alive[ids]))

    def to_bytes(self) -> bytes:
        """The words as bytes, with a checksum."""
        return storage.to_bytes(self.snapshot)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Lexicon":
        """Load from `to_bytes`. Raises ValueError for damaged data (F024) and for another version's
        format (F025)."""
        return cls._of(storage.from_bytes(data))

    def to_disk(self, path: str | Path) -> None:
        """Write a folder with the file `lexicon.bin`. If writing fails, the old file is kept."""
        with replacing(Path(path) / FILE) as temporary:
            temporary.write_bytes(self.to_bytes())

    @classmethod
    def from_disk(cls, path: str | Path) -> "Lexicon":
        """Load from `to_disk`. Raises FileNotFoundError (F023) if the file is missing; otherwise as
        `from_bytes`."""
        file = Path(path) / FILE
        if not file.is_file():
            raise FileNotFoundError(Errors.F023.format(path=path, file=FILE))
        return cls.from_bytes(file.read_bytes())

    def __copy__(self) -> "Lexicon":
        return self._of(self.snapshot)  # which is immutable

    def __reduce__(self) -> tuple[Any, ...]:
        return Lexicon.from_bytes, (self.to_bytes(),)

    @classmethod
    def _of(cls, snapshot: Snapshot) -> "Lexicon":
        lexicon = cls()
        lexicon._snapshot = snapshot
        return lexicon

    def _insert(self, entries: Iterable[Entry]) -> int:
        with self._lock:
            inserted = self._snapshot.insert(entries)
            self._snapshot, count, _ = inserted
        self._warned(inserted)
        return count

    def _entries(
        self,
        words: Iterable[str] | Mapping[str, str],
        type: str,
        frequency: float | None,
        trust: float | None,
    ) -> list[Entry]:
        """The words as entries. Raises as `add`."""
        if isinstance(words, Mapping):
            if type:
                raise ValueError(Errors.F047.format(type=type))
            types = dict(words)
        else:
            types = dict.fromkeys(_strings(words), type)
        _strings(types)
        for each in {type, *types.values()}:
            self._check_type(each)
        known = UNKNOWN_FREQUENCY if frequency is None else frequency
        sure = _checked_trust(trust)
        if trust:
            self._check_typed([word for word, type in types.items() if not type])
        return [_checked(Entry(word, known, type, sure)) for word, type in types.items()]

    def _check_type(self, type: object) -> None:
        if not isinstance(type, str):
            raise TypeError(Errors.F038.format(name="type", value=_short(type)))
        if self._advised is None:
            return
        if type not in (*self._snapshot.type_names, *self._advised, NOT_ENTITY):
            known = ", ".join(map(repr, self._advised)) or "none"
            raise ValueError(Errors.F044.format(type=type, known=known))

    def _check_typed(self, words: Sequence[str]) -> None:
        """Raise ValueError (F046) for words without a type that counts."""
        snapshot = self.snapshot
        known = snapshot.type_names if self._advised is None else (*self._advised, NOT_ENTITY)
        bare = []
        for word in words:
            entry = self.entry(word)
            if entry is None and snapshot.fault(snapshot.normalise(word)):
                continue  # it can't be added anyway
            if entry is None or not entry.type or entry.type not in known:
                bare.append(word)
        if bare:
            raise ValueError(Errors.F046.format(words=", ".join(map(_short, bare[:3]))))

    def _warned(self, inserted: tuple[Snapshot, int, dict[str, list[str]]]) -> Snapshot:
        """The new snapshot. Warns (W001) of words that weren't inserted."""
        snapshot, _, faulty = inserted
        if faulty:
            faults = "; ".join(
                f"{len(words)} {fault} ({', '.join(map(_short, words[:3]))}"
                f"{', …' if len(words) > 3 else ''})"
                for fault, words in faulty.items()
            )
            message = Warnings.W001.format(
                faults=faults, shortest=snapshot.min_length, longest=PIECE
            )
            warnings.warn(message, stacklevel=4)
        return snapshot


def _strings(values: Iterable[str]) -> list[str]:
    """The values as a list. Raises TypeError unless they are a list (F026) of strings (F028)."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(Errors.F026.format(value=_short(values)))
    found = list(values)
    for value in found:
        if not isinstance(value, str):
            message = Errors.F028.format(value=_short(value), type=type(value).__name__)
            raise TypeError(message)
    return found


def _checked(entry: Entry) -> Entry:
    """The entry. Raises TypeError (F029) or ValueError (F021, F341) for a bad one."""
    is_entry = isinstance(entry, Entry) and isinstance(entry.word, str)
    if not (is_entry and isinstance(entry.type, str)):
        raise TypeError(Errors.F029.format(value=_short(entry)))
    frequency = entry.frequency
    if not isinstance(frequency, Real) or not (
        frequency == UNKNOWN_FREQUENCY or 0 <= frequency <= FLOAT32_MAX
    ):
        raise ValueError(Errors.F021.format(word=entry.word, value=frequency))
    if entry.trust != UNSET:
        _checked_trust(entry.trust)
    return entry


def _checked_trust(trust: float | None) -> float:
    """The trust of an entry. Raises ValueError (F341) for a bad one."""
    if trust is None:
        return UNSET
    require("trust", trust, lambda: 0 <= trust <= 1, "a number from 0 to 1")
    return trust


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
