"""The lexicon: words, their properties, and where they occur in texts."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ..errors import Errors, Warnings
from ..text.scripts import Simplifier
from ..util.messages import logger, shortened
from ..util.options import require_number, require_string
from ..vectors.files import FLOAT32_MAX
from . import storage
from .evidence import NO_NAME, ListReport, weigh
from .snapshot import PIECE, Matches, Snapshot
from .word_lists import ADDED, NOT_ENTITY, UNKNOWN_FREQUENCY, UNSET, Entry, read_words

# Temporary changes of what lexicons are in one context (a thread, or an asyncio task).
_Layer = tuple["Lexicon", Callable[[Snapshot], Snapshot]]
_layers: ContextVar[tuple[_Layer, ...]] = ContextVar("spacy_flat_lexicon_layers", default=())


class Lexicon:
    """Words with ids 0, 1, … and properties, and their occurrences in texts.

    entries: the words in the order of their ids. If a word is repeated, the first entry counts.
    ignore_case: find words in letters that have a case whatever their case: KFC in kfc. Of words
        that differ in it alone, the text's own spelling counts.
    simplified: the pairs of a `Simplifier`. Words in simplified characters are also found in
        traditional ones, and words added later in traditional characters become simplified.

    Words of one character or of more than 32,768 are omitted. Surrounding white space and
    zero-width characters are stripped.

    Ids are stable: new words get new ids at the end, and a removed word keeps its id. Other threads
    can search while the lexicon changes: use one `snapshot` for a search and the columns of what it
    found.

    Raises ValueError (F341) for an invalid frequency or trust.
    """

    def __init__(
        self, entries: Iterable[Entry] = (), *, ignore_case: bool = True, simplified: str = ""
    ) -> None:
        self._lock = Lock()
        self._usual: Sequence[str] | None = None  # types, if no others may be added
        self._labels: Sequence[str] = ()
        empty = Snapshot(ignore_case, Simplifier(simplified))
        self._snapshot = empty.filled(map(_checked, entries))

    @property
    def snapshot(self) -> Snapshot:
        """The words now, in this context: with the temporary words of `with_words`."""
        snapshot = self._snapshot
        for lexicon, change in _layers.get():
            if lexicon is self:
                snapshot = change(snapshot)
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
        and processes forked from it; errors and warnings as in `add`, and TypeError (F048) for
        words without types. What is saved, copied or pickled within keeps the words for good."""
        entries = self._entries(_with_types(words), "", None, trust)
        insert = lru_cache(maxsize=1)(lambda base: base.insert(entries))
        _warn_of(insert(self.snapshot)[2])
        with self._layered(lambda base: insert(base)[0]):
            yield

    @contextmanager
    def _layered(self, change: Callable[[Snapshot], Snapshot]) -> Iterator[None]:
        layer = (self, change)
        _layers.set((*_layers.get(), layer))
        try:
            yield
        finally:
            # Layers may end in any order.
            _layers.set(tuple(each for each in _layers.get() if each is not layer))

    def __len__(self) -> int:
        return int(self.snapshot.alive.sum())

    def __repr__(self) -> str:
        """The numbers of words by type and trust, the largest first."""
        snapshot, kinds = self.snapshot, Counter[str]()
        columns = (snapshot.types, snapshot.blocked, snapshot.trusts)
        rows = zip(*(column[snapshot.alive].tolist() for column in columns), strict=True)
        for (type, blocked, trust), n in Counter(rows).items():
            shown = NOT_ENTITY if blocked else snapshot.type_names[type] or "no type"
            kinds[shown + f" (trust {trust:g})" * (trust != UNSET)] += n
        found = [f"{n:,} {kind}" for kind, n in kinds.most_common()]
        return f"Lexicon({kinds.total():,} words{': ' * bool(found)}{shortened(found, 10)})"

    def __iter__(self) -> Iterator[str]:
        """The words in the order of their ids, without removed ones."""
        snapshot = self.snapshot
        return (snapshot.word(id) for id in np.flatnonzero(snapshot.alive).tolist())

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.index(word) >= 0

    def index(self, word: str) -> int:
        """The id of the word that a text like this contains, or -1."""
        return next(iter(self.snapshot.ids_of(word)), -1)

    def entry(self, word: str) -> Entry | None:
        """The word that a text like this contains, and its properties; None without any."""
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
        """Add words, which the next `match` finds. Returns how many words are new or changed.

        If a word is already known, its type, frequency and trust are updated if they are given; a
        type without a trust brings back the default trust, and a trust needs the type again. A
        removed word gets its old id again.
        Add many words in one call: each call rebuilds the automaton of all added words.

        words: a list, or a dictionary with the type of each word.
        type: for names, a label of the component; "not_entity" for words that aren't entities. Of a
            dictionary, for words without one.
        trust: how strongly the words count. With 0 the network decides, with 1 they are always
            what the type says; in between, the odds of this are divided by 1 - trust. By default
            0.999, and 1 for "not_entity".

        Warns (W001) about words that are empty, too short, too long or can't be searched for.
        Raises TypeError unless the words are a list (F026) of strings and types strings (F028),
        ValueError for an invalid frequency or trust (F341), for a trust above 0 without the type of
        a label (F046) and, in the lexicon of a trained pipeline, for a type that its network
        doesn't know (F044).
        """
        return self._insert(self._entries(words, type, frequency, trust))

    def update(
        self, path: str | Path, *, type: str = "", trust: float | None = None, strict: bool = False
    ) -> int:
        """Add the words of a file (see `read_words`). Returns how many words are new or changed.

        In a trained pipeline's lexicon, its types may follow a word after a space (`人和药店 ORG`).
        `type` replaces its other types that aren't labels, such as jieba's parts of speech. Words
        already known get the types, frequencies and trust that are given.

        Without a trust, a list is evidence. A word whose type is a label counts as a name if it
        would occur by chance less often than a name in a list of this length; it then has the
        component's `trust`. Other words stay as they are, and so do words that are "not_entity" or
        have a trust above 0. The log says which, as `check` does.

        strict: damaged lines are errors, even a few of many, and so are words that can't be used or
            look like no name (F050), and types that the network doesn't know.

        Otherwise warns and raises as `add` and `read_words`.
        """
        entries, report = self._read(path, type, trust, strict)
        logger.info(report)
        return self._insert(entries)

    def check(self, path: str | Path, *, type: str = "", strict: bool = False) -> ListReport:
        """Report what `update` would do: the number of words, those that wouldn't count as names,
        can't be used or look like no name, and damaged lines. Raises as `update`."""
        return self._read(path, type, None, strict)[1]

    def _read(
        self, path: str | Path, type: str, trust: float | None, strict: bool
    ) -> tuple[Sequence[Entry], ListReport]:
        self._check_types([type])
        # A type of one letter may well be the end of a word.
        types = [name for name in (*(self._usual or ()), NOT_ENTITY) if len(name) > 1]
        found = read_words(path, type=type, trust=_trust(trust), known_types=types, strict=strict)
        entries, snapshot = found.entries, self._snapshot
        report = ListReport(path, len(entries), damaged=found.damaged)
        report.unknown_types = self._unknown_types(entry.type for entry in entries)
        if type:
            others = dict.fromkeys(e.type for e in entries if not self._is_label(e.type))
            report.replaced_types = [each for each in others if each != type]
            entries = [e._replace(type=type) if e.type in others else e for e in entries]
        self._check_trusts(entries)
        words = {e.word: snapshot.normalise(e.word) for e in entries}
        report.unusable = [each for each in words if not snapshot.is_searchable(words[each])]
        names = {e.word for e in entries if e.type in ("", *self._labels)} - {*report.unusable}
        report.no_names = [each for each in words if each in names and NO_NAME.search(words[each])]
        if strict:
            self._check_types(report.unknown_types)
            if report.unusable:
                raise ValueError(_ignored(report.unusable))
            if report.no_names:
                raise ValueError(Errors.F050.format(path=path, words=_listed(report.no_names)))
        if trust is None:
            entries = weigh(entries, snapshot, self._labels, report)
        else:
            report.no_names = ()  # all words are used
        return entries, report

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

    def close_types(self, usual: Sequence[str], labels: Sequence[str] = ()) -> None:
        """Make `add` and `update` reject new types, except the usual ones, which the error lists.

        labels: types that are labels of the component.
        """
        self._usual, self._labels = usual, labels

    def simplify(self, simplifier: Simplifier) -> None:
        """From now on, find words in simplified characters in traditional ones, too."""
        with self._lock:
            self._snapshot = replace(self._snapshot, simplifier=simplifier)

    def to_bytes(self) -> bytes:
        """The words as bytes, which keep the temporary ones of `with_words` for good."""
        return storage.to_bytes(self.snapshot)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Lexicon":
        """Load from `to_bytes`. Raises ValueError (F024) for other data."""
        return cls._of(storage.from_bytes(data))

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
            self._snapshot, count, ignored = self._snapshot.insert(entries)
        _warn_of(ignored)
        return count

    def _entries(
        self,
        words: Iterable[str] | Mapping[str, str],
        type: str,
        frequency: float | None,
        trust: float | None,
    ) -> list[Entry]:
        """The words as entries. Raises as `add`."""
        given = words if isinstance(words, Mapping) else dict.fromkeys(_strings(words), "")
        types = {word: each or type for word, each in given.items()}
        self._check_types([type, *types.values()])
        frequency = UNKNOWN_FREQUENCY if frequency is None else frequency
        sure = _trust(trust)

        def trust_of(type: str) -> float:
            is_name = type != NOT_ENTITY and self._is_label(type)
            return ADDED if trust is None and is_name else sure

        entries = [
            _checked(Entry(word, frequency, each, trust_of(each))) for word, each in types.items()
        ]
        self._check_trusts(entries)
        return entries

    def _is_label(self, type: str) -> bool:
        """Whether words of a type can have a trust."""
        return bool(type) if self._usual is None else type in (*self._labels, NOT_ENTITY)

    def _check_trusts(self, entries: Iterable[Entry]) -> None:
        bare = [each.word for each in entries if each.trust > 0 and not self._is_label(each.type)]
        if bare:
            raise ValueError(Errors.F046.format(words=_listed(bare)))

    def _check_types(self, types: Sequence[str]) -> None:
        for type in self._unknown_types(_strings(types)):
            known = ", ".join(map(repr, (*(self._usual or ()), NOT_ENTITY)))
            raise ValueError(Errors.F044.format(type=type, known=known))

    def _unknown_types(self, types: Iterable[str]) -> list[str]:
        if self._usual is None:
            return []
        known = {*self._snapshot.type_names, *self._usual, NOT_ENTITY}
        return [type for type in dict.fromkeys(types) if type not in known]


def _with_types(words: Iterable[tuple[str, str]] | Mapping[str, str]) -> dict[str, str]:
    given = words.items() if isinstance(words, Mapping) else words
    pairs = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(each, tuple | list) and len(each) == 2 and each[1] for each in pairs):
        raise TypeError(Errors.F048.format(value=f"{words!r:.60}"))
    return dict(pairs)


def _warn_of(ignored: Sequence[str]) -> None:
    """Warns (W001) of words that weren't inserted."""
    if ignored:
        warnings.warn(_ignored(ignored), stacklevel=4)


def _ignored(words: Sequence[str]) -> str:
    return Warnings.W001.format(count=len(words), words=_listed(words), longest=PIECE)


def _strings(values: Iterable[str]) -> list[str]:
    """The values as a list. Raises TypeError unless they are a list (F026) of strings (F028)."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(Errors.F026.format(value=f"{values!r:.60}"))
    return list(map(require_string, values))


def _checked(entry: Entry) -> Entry:
    """The entry. Raises ValueError (F341) for a bad one."""
    if entry.frequency != UNKNOWN_FREQUENCY:
        require_number("frequency", entry.frequency, 0, FLOAT32_MAX)
    if entry.trust != UNSET:
        _trust(entry.trust)
    return entry


def _trust(trust: float | None) -> float:
    """The trust of an entry. Raises ValueError (F341) for a bad one."""
    if trust is None:
        return UNSET
    require_number("trust", trust, 0, 1)
    return trust


def _listed(words: Sequence[str]) -> str:
    return shortened([f"{word!r:.60}" for word in words])
