"""The words of a lexicon at one moment, and where they occur in texts: all overlapping occurrences
in one pass of an Aho–Corasick automaton."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

import numpy as np
from daachorse import CharwiseDoubleArrayAhoCorasick
from numpy.typing import NDArray

from ..text.scripts import HALF_WIDTH, LATIN_RANGES, ZERO_WIDTH, Simplifier
from ..util.arrays import Bools, Float32s, Int32s, Ints
from .word_lists import NOT_ENTITY, UNKNOWN_FREQUENCY, UNSET, Entry

# Characters searched at a time, and the longest possible word. Matches are Python tuples before
# they become an array: pieces bound their memory. With much smaller pieces two automata would evict
# each other from the processor's cache.
PIECE = 32768

Hits = tuple[Ints, Int32s, Int32s]  # starts, lengths and ids, sorted by (start, length)

# Separates the texts of one search, so no word may contain it.
SEPARATOR = "\0"
_UNSEARCHABLE = re.compile(f"[{SEPARATOR}\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Letters, also full-width ones, and combining accents.
_LETTER = LATIN_RANGES + "\u0300-\u036f\u0370-\u052fḀ-ỿＡ-Ｚａ-ｚ"
_DIGIT = "[0-9０-９]"
_FULL_WIDTH = re.compile("[Ａ-Ｚａ-ｚ０-９]")
_HALF_WIDTH = {code: char for code, char in HALF_WIDTH.items() if char.isalnum()}
_HAS_CASE = re.compile(f"[{_LETTER}]")
_RUN = re.compile(f"[{_LETTER}]{{2,}}|{_DIGIT}(?:[.,]?{_DIGIT})+")

MIN_LENGTH = 2  # characters of a word
COLUMNS = ("offsets", "lengths", "frequencies", "types", "blocked", "alive", "trusts")
N_BANDS = 8  # of word frequency
TOP_FREQUENCY = 1e6  # from here on in the last band


@dataclass(frozen=True)
class Automaton:
    """Finds the words with the ids first, first + 1, …"""

    matcher: CharwiseDoubleArrayAhoCorasick
    first: int

    @classmethod
    def build(cls, words: list[str], first: int) -> Automaton:
        """words: distinct and not empty."""
        return cls(CharwiseDoubleArrayAhoCorasick(words), first)

    @classmethod
    def load(cls, data: bytes, first: int) -> Automaton:
        """Load from `save`. Raises ValueError for damaged data."""
        return cls(CharwiseDoubleArrayAhoCorasick.deserialize(data), first)

    def save(self) -> bytes:
        return self.matcher.serialize()

    def index(self, word: str) -> int:
        """The id of a word, or -1."""
        for start, end, pattern in self.matcher.find_overlapping(word):
            if end - start == len(word):
                return self.first + pattern
        return -1


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


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The immutable words and settings of a lexicon. Every change makes a new one.

    The columns have one row per id, [N], including removed words. Type 0 is "", unknown. Words that
    are `not_entity` are blocked, and keep the type that they had: the network reads the same text.
    """

    ignore_case: bool = True
    simplifier: Simplifier = field(default_factory=Simplifier)
    text: bytes = b""  # UTF-8 of all words
    offsets: Int32s = field(default_factory=lambda: np.zeros(1, np.int32))  # [N + 1] in `text`
    lengths: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    frequencies: Float32s = field(default_factory=lambda: np.zeros(0, np.float32))
    types: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    blocked: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    alive: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    trusts: Float32s = field(default_factory=lambda: np.zeros(0, np.float32))
    type_names: tuple[str, ...] = ("",)
    automata: tuple[Automaton, ...] = ()  # of the first words, and of all added since

    def __post_init__(self) -> None:
        for name in COLUMNS:
            getattr(self, name).flags.writeable = False

    @property
    def size(self) -> int:
        """Number of ids, N, including those of removed words."""
        return len(self.lengths)

    @cached_property
    def longest(self) -> int:
        """Characters of the longest word, removed ones included; 1 without words."""
        return int(self.lengths.max(initial=1))

    @cached_property
    def frequency_bands(self) -> NDArray[np.int8]:
        """[N] bands of frequency: 0 for unknown ones, 1 to 7 from rare to frequent, in equal steps
        of the logarithm up to a million."""
        share = np.log1p(np.maximum(self.frequencies, 0)) / np.log1p(TOP_FREQUENCY)
        bands = 1 + np.minimum(share * (N_BANDS - 1), N_BANDS - 2)
        return np.where(self.frequencies < 0, 0, bands).astype(np.int8)

    def word(self, id: int) -> str:
        """The word with an id, removed or not."""
        return self.text[self.offsets[id] : self.offsets[id + 1]].decode("utf-8")

    def entry(self, id: int) -> Entry:
        """The word with an id, and its properties."""
        frequency, trust = float(self.frequencies[id]), float(self.trusts[id])
        type = NOT_ENTITY if self.blocked[id] else self.type_names[self.types[id]]
        return Entry(self.word(id), frequency, type, trust)

    def ids_of(self, word: str) -> list[int]:
        """The ids of the words that are found in a text like this, its own spelling first."""
        word = self.normalise(word)
        forms = dict.fromkeys((word, self.simplifier(word)))
        ids = [id for form in forms if (id := self.exact_id(form)) >= 0 and self.alive[id]]
        ids += (id for form in forms for id in self._folded_ids.get(_fold_case(form), ()))
        return list(dict.fromkeys(ids))

    def exact_id(self, word: str) -> int:
        """The id of a word in this spelling, removed or not, or -1."""
        if self.is_searchable(word):
            for automaton in self.automata:
                if (id := automaton.index(word)) >= 0:
                    return id
        return -1

    def normalise(self, word: str) -> str:
        """A word as it is stored."""
        return ZERO_WIDTH.sub("", word).strip()

    def is_searchable(self, word: str) -> bool:
        """Whether a word, as it is stored, can be one of the lexicon."""
        return MIN_LENGTH <= len(word) <= PIECE and not _UNSEARCHABLE.search(word)

    def match(self, texts: Sequence[str]) -> Matches:
        """See `Lexicon.match`."""
        # No word has a surrogate, which can't be searched.
        joined = _SURROGATE.sub(SEPARATOR, SEPARATOR.join(texts))
        visible = ZERO_WIDTH.sub("", joined)
        starts, lengths, words = self._search(visible)
        if len(visible) < len(joined):
            hidden = [match.start() for match in ZERO_WIDTH.finditer(joined)]
            places = np.delete(np.arange(len(joined)), hidden)
            ends = places[starts + lengths - 1] + 1
            starts = places[starts]
            lengths = (ends - starts).astype(np.int32)
        # Where each text begins in the joined one.
        sizes = (len(text) + len(SEPARATOR) for text in texts)
        firsts = np.array(list(accumulate(sizes, initial=0)), np.int64)
        bounds = np.searchsorted(starts, firsts)
        counts = bounds[1:] - bounds[:-1]
        local = (starts - np.repeat(firsts[:-1], counts)).astype(np.int32)
        numbers = np.repeat(np.arange(len(texts), dtype=np.int32), counts)
        return Matches(numbers, local, local + lengths, words)

    def filled(self, entries: Iterable[Entry]) -> Snapshot:
        """Fill an empty snapshot with words as they are spelled; of equal ones the first counts."""
        return self._appended(self._usable(entries, []))

    def insert(self, entries: Iterable[Entry]) -> tuple[Snapshot, int, list[str]]:
        """Add words, and update known ones; of equal ones the first counts.

        Returns the new snapshot, how many words are new or changed, and those that can't be added.
        """
        ignored: list[str] = []
        new: dict[str, Entry] = {}
        known: dict[int, Entry] = {}
        for word, entry in self._usable(entries, ignored).items():
            if (id := self.exact_id(word)) < 0:
                simplified = self.simplifier(word)
                id, word = self._other_spelling(word, simplified), simplified
            if id < 0:
                new.setdefault(word, entry)
            else:
                known.setdefault(id, entry)
        updated, count = self._overwritten(known)
        return updated._appended(new), len(new) + count, ignored

    def _usable(self, entries: Iterable[Entry], ignored: list[str]) -> dict[str, Entry]:
        """The entries by their words as they are stored. Lists the words of others in `ignored`."""
        usable: dict[str, Entry] = {}
        for entry in entries:
            word = self.normalise(entry.word)
            if self.is_searchable(word):
                usable.setdefault(word, entry)
            else:
                ignored.append(entry.word)
        return usable

    def _other_spelling(self, word: str, simplified: str) -> int:
        """The id of a word that is this one in another spelling, or -1."""
        if _HAS_CASE.search(word):
            for form in (word, simplified):
                if ids := self._folded_ids.get(_fold_case(form)):
                    return ids[0]
        return -1 if simplified == word else self.exact_id(simplified)

    def remove(self, words: Iterable[str]) -> tuple[Snapshot, int]:
        """Remove words in all their spellings. Returns also how many were known."""
        ids = [ids for word in words if (ids := self.ids_of(word))]
        alive = self.alive.copy()
        alive[[id for each in ids for id in each]] = False
        return replace(self, alive=alive), len({each[0] for each in ids})

    def _search(self, text: str) -> Hits:
        """The words in a text. Of several spellings of the same characters the text's own wins."""
        variants = list(dict.fromkeys((text, self.simplifier(text))))
        cut = cuts_of(text)
        found = self._checked(find_all(self.automata, text, self.longest), cut)
        for other in variants[1:]:
            hits = find_all(self.automata, other, self.longest)
            found = _merge(found, self._checked(hits, cut))
        if (folded := self._folded) is not None and _HAS_CASE.search(text):
            automaton, ids = folded
            for variant in variants:
                starts, lengths, keys = find_all([automaton], _fold_case(variant), self.longest)
                found = _merge(found, self._checked((starts, lengths, ids[keys]), cut))
        return found

    def _checked(self, hits: Hits, cut: Bools | None) -> Hits:
        """Those that are not removed and don't cut a word in letters, or a number."""
        starts, lengths, words = hits
        right = self.alive[words]
        if cut is not None:
            right &= ~(cut[starts] | cut[starts + lengths])
        return hits if right.all() else (starts[right], lengths[right], words[right])

    @cached_property
    def _folded(self) -> tuple[Automaton, Int32s] | None:
        """An automaton of the words with letters that have a case, in lower case, and the id of
        each; None without any. The other automata have words as they are spelled."""
        if not self._folded_ids:
            return None
        first = [ids[0] for ids in self._folded_ids.values()]
        return Automaton.build(list(self._folded_ids), first=0), np.array(first, np.int32)

    @cached_property
    def _folded_ids(self) -> dict[str, list[int]]:
        """The ids of the words with letters that have a case, by their lower case."""
        found: dict[str, list[int]] = {}
        if not (self.ignore_case and self.size):
            return found
        # Bytes of ASCII letters, and those that begin Latin, Greek, Cyrillic and full-width ones.
        codes = np.frombuffer(self.text, np.uint8)
        has_case = ((codes | 0x20) >= 0x61) & ((codes | 0x20) <= 0x7A)
        has_case |= ((codes >= 0xC2) & (codes <= 0xE1)) | (codes == 0xEF)
        words = np.logical_or.reduceat(has_case, self.offsets[:-1]) & self.alive
        for id in np.flatnonzero(words).tolist():
            word = self.word(id)
            if word.upper() != word.lower():  # not for full-width digits alone
                found.setdefault(_fold_case(word), []).append(id)
        return found

    def _appended(self, new: dict[str, Entry]) -> Snapshot:
        """Add new words at the end."""
        if not new:
            return self
        encoded = [word.encode("utf-8") for word in new]
        ends = self.offsets[-1] + np.cumsum([len(word) for word in encoded])
        columns, type_names = self._columns(new.values())
        columns["offsets"] = ends.astype(np.int32)
        columns["lengths"] = np.array([len(word) for word in new], np.int32)
        for name, column in columns.items():
            columns[name] = np.append(getattr(self, name), column)
        return replace(
            self,
            text=self.text + b"".join(encoded),
            automata=self._extended(list(new)),
            type_names=type_names,
            **columns,
        )

    def _overwritten(self, entries: dict[int, Entry]) -> tuple[Snapshot, int]:
        """Update words by id, and bring back removed ones. Returns also how many are changed."""
        ids = np.array(list(entries), np.int32)
        columns, type_names = self._columns(entries.values())
        # Words that were not removed keep what the new entry leaves open.
        alive = self.alive[ids]
        keep = {
            "frequencies": (columns["frequencies"] == UNKNOWN_FREQUENCY) & alive,
            "types": (columns["types"] == 0) & alive,
        }
        keep["blocked"] = keep["types"] & ~columns["blocked"]
        # A type without a trust has the default, not that of a former type.
        keep["trusts"] = (columns["trusts"] == UNSET) & keep["blocked"]
        changed = np.zeros_like(alive)
        for name, given in columns.items():
            columns[name] = getattr(self, name).copy()
            old = columns[name][ids]
            columns[name][ids] = np.where(keep.get(name, False), old, given)
            changed |= columns[name][ids] != old
        updated = replace(self, type_names=type_names, **columns)
        return (updated if changed.any() else self), int(changed.sum())

    def _columns(self, entries: Iterable[Entry]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The columns that entries fill, and the names of all types."""
        given = list(entries)
        numbers = {name: number for number, name in enumerate(self.type_names)}
        blocked = [entry.type == NOT_ENTITY for entry in given]
        shown = ("" if each else entry.type for each, entry in zip(blocked, given, strict=True))
        types = [numbers.setdefault(type, len(numbers)) for type in shown]
        columns = {
            "frequencies": np.array([entry.frequency for entry in given], np.float32),
            "types": np.array(types, np.int32),
            "blocked": np.array(blocked, np.bool_),
            "alive": np.ones(len(given), np.bool_),
            "trusts": np.array([entry.trust for entry in given], np.float32),
        }
        return columns, tuple(numbers)

    def _extended(self, new: list[str]) -> tuple[Automaton, ...]:
        """The automata with new words. An automaton can't grow, and a big one takes seconds to
        build, so only the one of the added words is rebuilt."""
        if not self.automata:
            return (Automaton.build(new, first=0),)
        base, *later = self.automata
        first = later[0].first if later else self.size
        added = [self.word(id) for id in range(first, self.size)]
        return base, Automaton.build(added + new, first)


def find_all(automata: Sequence[Automaton], text: str, longest: int) -> Hits:
    """All occurrences of words, [M].

    longest: characters of the longest word. Pieces of the text overlap by one less.
    """
    found = [np.zeros((0, 3), np.int64)]
    for offset in range(0, len(text), PIECE):
        piece = text[offset : offset + PIECE + longest - 1]
        for automaton in automata:
            matches = automaton.matcher.find_overlapping(piece)
            # Flat, since numpy reads numbers several times as fast as tuples of them.
            flat = np.fromiter(chain.from_iterable(matches), np.int64, 3 * len(matches))
            rows = flat.reshape(-1, 3)
            own = rows[rows[:, 0] < PIECE]  # the others belong to the next piece
            found.append(own + np.array([offset, offset, automaton.first]))
    starts, ends, words = np.concatenate(found).T
    order = np.lexsort((ends, starts))
    return starts[order], (ends - starts)[order].astype(np.int32), words[order].astype(np.int32)


def _merge(found: Hits, others: Hits) -> Hits:
    """Both, in order; of hits at the same place those of the first."""
    if not len(others[0]):
        return found
    # Lengths are below 2¹⁶. Of equal keys, the index is that of the first.
    keys = np.concatenate([(starts << 16) | lengths for starts, lengths, _ in (found, others)])
    order = np.unique(keys, return_index=True)[1]
    starts, lengths, words = (np.concatenate([found[i], others[i]])[order] for i in range(3))
    return starts, lengths, words


# Spellings that count as the same, each of the same length, and places at which no word ends


def _fold_case(text: str) -> str:
    """Lower case and half width, of the same length."""
    if _FULL_WIDTH.search(text):
        text = text.translate(_HALF_WIDTH)
    # "İ" would become two characters, and "Σ" depends on its place in a word.
    return text.replace("İ", "i").lower().replace("ς", "σ")


def cuts_of(text: str) -> Bools | None:
    """[characters + 1] the places within words in Latin, Greek or Cyrillic letters, and within
    numbers, which no word or entity should cut; None if there are none."""
    found = None
    for run in _RUN.finditer(text):
        if found is None:
            found = np.zeros(len(text) + 1, dtype=np.bool_)
        found[run.start() + 1 : run.end()] = True
    return found
