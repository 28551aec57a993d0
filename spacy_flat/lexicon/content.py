"""The words of a lexicon and their properties, as columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..util.arrays import Bools, Float32s, Int32s
from .automaton import Automaton
from .sources import UNKNOWN_FREQUENCY, UNSET, Entry

COLUMNS = ("offsets", "lengths", "frequencies", "types", "origins", "alive", "trusts")


@dataclass(frozen=True)
class Content:
    """The immutable content of a lexicon. Every change makes a new one.

    The columns have one row per id, [N], including removed words. Type 0 is "", unknown.
    """

    text: bytes  # UTF-8 of all words
    offsets: Int32s  # [N + 1] where words begin in `text`, in bytes, and where the last ends
    lengths: Int32s
    frequencies: Float32s
    types: Int32s
    origins: Int32s
    alive: Bools
    trusts: Float32s
    type_names: tuple[str, ...]
    origin_names: tuple[str, ...]
    automata: tuple[Automaton, ...]  # of the first words, and of all added since
    dropped: Mapping[str, int]  # omitted words, by reason

    def __post_init__(self) -> None:
        for name in COLUMNS:
            getattr(self, name).flags.writeable = False

    @property
    def size(self) -> int:
        return len(self.lengths)

    @cached_property
    def longest(self) -> int:
        """Characters of the longest word, removed ones included; 1 without words."""
        return int(self.lengths.max(initial=1))

    def word(self, id: int) -> str:
        return self.text[self.offsets[id] : self.offsets[id + 1]].decode("utf-8")

    def index(self, word: str) -> int:
        """The id of a word, removed or not, or -1."""
        return max((automaton.index(word) for automaton in self.automata), default=-1)

    def append(self, new: dict[str, Entry]) -> "Content":
        """Add new words at the end."""
        if not new:
            return self
        encoded = [word.encode("utf-8") for word in new]
        ends = self.offsets[-1] + np.cumsum([len(word) for word in encoded])
        columns, names = self._columns(new.values())
        columns["offsets"] = ends.astype(np.int32)
        columns["lengths"] = np.array([len(word) for word in new], np.int32)
        for name, column in columns.items():
            columns[name] = np.append(getattr(self, name), column)
        text = self.text + b"".join(encoded)
        return replace(self, text=text, automata=self._extend(list(new)), **columns, **names)

    def overwrite(self, entries: dict[int, Entry]) -> "Content":
        """Update words by id, and bring back removed ones."""
        if not entries:
            return self
        ids = np.array(list(entries), np.int32)
        columns, names = self._columns(entries.values())
        # Words that were not removed keep what the new entry leaves open.
        alive = self.alive[ids]
        keep = {
            "frequencies": (columns["frequencies"] == UNKNOWN_FREQUENCY) & alive,
            "types": (columns["types"] == 0) & alive,
        }
        # A type without a trust has the default, not that of a former type.
        keep["trusts"] = (columns["trusts"] == UNSET) & keep["types"]
        for name, given in columns.items():
            columns[name] = getattr(self, name).copy()
            columns[name][ids] = np.where(keep.get(name, False), columns[name][ids], given)
        return replace(self, **columns, **names)

    def _columns(self, entries: Iterable[Entry]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The columns that entries fill, and the names of types and origins with new ones."""
        given = list(entries)
        type_names, types = _indices(self.type_names, [entry.type for entry in given])
        origin_names, origins = _indices(self.origin_names, [entry.origin for entry in given])
        columns = {
            "frequencies": np.array([entry.frequency for entry in given], np.float32),
            "types": types,
            "origins": origins,
            "alive": np.ones(len(given), np.bool_),
            "trusts": np.array([entry.trust for entry in given], np.float32),
        }
        return columns, {"type_names": type_names, "origin_names": origin_names}

    def _extend(self, new: list[str]) -> tuple[Automaton, ...]:
        """The automata with new words. An automaton can't grow, and a big one takes seconds to
        build, so only the one of the added words is rebuilt."""
        if not self.automata:
            return (Automaton.build(new, first=0),)
        base, *later = self.automata
        first = later[0].first if later else self.size
        added = [self.word(id) for id in range(first, self.size)]
        return base, Automaton.build(added + new, first)


def _indices(names: tuple[str, ...], given: list[str]) -> tuple[tuple[str, ...], Int32s]:
    """The names with new ones, and the index of each given one."""
    index = {name: number for number, name in enumerate(names)}
    numbers = [index.setdefault(name, len(index)) for name in given]
    return tuple(index), np.array(numbers, np.int32)


EMPTY = Content(
    text=b"",
    offsets=np.zeros(1, np.int32),
    lengths=np.zeros(0, np.int32),
    frequencies=np.zeros(0, np.float32),
    types=np.zeros(0, np.int32),
    origins=np.zeros(0, np.int32),
    alive=np.zeros(0, np.bool_),
    trusts=np.zeros(0, np.float32),
    type_names=("",),
    origin_names=(),
    automata=(),
    dropped={},
)
