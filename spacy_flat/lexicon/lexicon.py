"""The lexicon: words by id, what is known of them, and where they occur in texts."""

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from daachorse import CharwiseDoubleArrayAhoCorasick
from numpy.typing import NDArray

from ..errors import Errors
from ..files import replacing
from ..vectors.table import FLOAT32_MAX
from .automaton import PIECE, Automaton, find_all
from .content import COLUMNS, EMPTY, Content, Float32s, Int32s
from .full_width import fold_full_width
from .sources import UNKNOWN_FREQUENCY, Entry, read_words

# Between the texts of one search; a word that holds it is not taken.
SEPARATOR = "\0"
_UNSEARCHABLE = re.compile(f"[{SEPARATOR}\ud800-\udfff]")

FORMAT = 1
HEADER_FILE = "lexicon.json"
ARRAYS_FILE = "lexicon.safetensors"
# Frequencies of this and above are in the last band.
TOP_FREQUENCY = 1e6


@dataclass(frozen=True)
class Matches:
    """M occurrences of words in texts, sorted by (text, start, end). Each array is int32 [M].

    texts: index into the texts given. starts, ends: characters of that text, end exclusive.
    words: word ids.
    """

    texts: Int32s
    starts: Int32s
    ends: Int32s
    words: Int32s

    def __len__(self) -> int:
        return len(self.words)


class Lexicon:
    """Words with ids 0, 1, …; what is known of each; and all their occurrences in texts.

    entries: the words in the order of their ids; `itertools.chain` merges sources. Of equal words
    the first counts.
    full_width: take full-width forms (Ａ, １, the ideographic space) for their plain ones, in words
    and in texts.
    min_length, max_length: characters; words outside are left out. Surrounding space is no part of
    a word.

    Ids are stable: words added later have new ids at the end, and a removed word keeps its id
    without ever matching, until it is added again. Changes may run beside searches in other
    threads: a search sees all of a change or nothing. The columns are read-only arrays [N], of all
    ids ever given; take them after `match`, so that they hold every id that it found.

    Raises ValueError for impossible lengths (F020) and frequencies (F021).
    """

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        full_width: bool = False,
        min_length: int = 2,
        max_length: int = 16,
    ) -> None:
        if not 1 <= min_length <= max_length <= PIECE:
            raise ValueError(
                Errors.F020.format(min_length=min_length, max_length=max_length, limit=PIECE)
            )
        self.full_width = full_width
        self.min_length = min_length
        self.max_length = max_length
        self._lock = Lock()
        self._content = EMPTY
        self._insert(entries, update=False)

    # What is in it

    def __len__(self) -> int:
        """Number of words, without the removed ones."""
        return int(self._content.alive.sum())

    def __iter__(self) -> Iterator[str]:
        """The words in the order of their ids, without the removed ones."""
        content = self._content
        return (content.word(int(id)) for id in np.flatnonzero(content.alive))

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.index(word) >= 0

    @property
    def size(self) -> int:
        """Number of ids given so far, N: those of removed words, too."""
        return self._content.size

    def word(self, id: int) -> str:
        """The word with an id, also when it is removed. Raises IndexError where there is none."""
        content = self._content
        if not 0 <= id < content.size:
            raise IndexError(Errors.F027.format(id=id, size=content.size))
        return content.word(id)

    def index(self, word: str) -> int:
        """The id of a word, -1 if it is not in the lexicon."""
        content = self._content
        word = self._normalise(word)
        id = -1 if self._fault(word) else content.index(word)
        return id if id >= 0 and content.alive[id] else -1

    @property
    def lengths(self) -> Int32s:
        """Characters of each word, [N]."""
        return self._content.lengths

    @property
    def frequencies(self) -> Float32s:
        """Frequency of each word as its source gave it, [N]; -1 where unknown."""
        return self._content.frequencies

    @property
    def types(self) -> Int32s:
        """Type of each word, [N], an index into `type_names`."""
        return self._content.types

    @property
    def type_names(self) -> tuple[str, ...]:
        """The types, "" (unknown) first."""
        return self._content.type_names

    @property
    def origins(self) -> Int32s:
        """Source of each word, [N], an index into `origin_names`."""
        return self._content.origins

    @property
    def origin_names(self) -> tuple[str, ...]:
        return self._content.origin_names

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Whether each word can match, [N]: false for removed words."""
        return self._content.alive

    @property
    def dropped(self) -> dict[str, int]:
        """How many words given so far were left out: duplicate, empty, short, long or invalid."""
        return dict(self._content.dropped)

    def frequency_bands(self, n: int = 8) -> NDArray[np.int8]:
        """Frequencies in n bands, [N]: 0 unknown, 1 to n - 1 from rare to frequent.

        The bands are equal steps of the logarithm up to a fixed top (a million), so that a word's
        band does not depend on the other words. Raises ValueError (F022) for n outside 2 to 127.
        """
        if not 2 <= n <= 127:
            raise ValueError(Errors.F022.format(value=n))
        frequencies = self._content.frequencies
        share = np.log1p(np.maximum(frequencies, 0)) / np.log1p(TOP_FREQUENCY)
        bands = 1 + np.minimum(share * (n - 1), n - 2)
        return np.where(frequencies < 0, 0, bands).astype(np.int8)

    # Where it occurs

    def match(self, texts: Sequence[str]) -> Matches:
        """Find all occurrences of all words, overlapping ones too.

        Time is that of one pass over the texts, memory that of their characters and matches.
        Raises TypeError (F026) for a single string.
        """
        _refuse_string(texts)
        content = self._content
        joined = self._normalise(SEPARATOR.join(texts))
        starts, lengths, words = find_all(content.automata, joined, self.max_length)
        alive = content.alive[words]
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

    # Changes

    def add(
        self,
        words: Iterable[str],
        type: str = "",
        frequency: float | None = None,
        origin: str = "added",
    ) -> int:
        """Add words, to be found from the next `match` on; returns how many are new.

        A word that is there already takes the origin and what is given of type and frequency; one
        that was removed comes back with its old id. Cheap for many words at once, not for many
        calls. Raises ValueError (F021) for an impossible frequency, TypeError (F026) for a single
        string.
        """
        _refuse_string(words)
        known = UNKNOWN_FREQUENCY if frequency is None else frequency
        return self._insert((Entry(word, known, type, origin) for word in words), update=True)

    def update(self, path: str | Path, *, type: str = "", skip_bad: bool = False) -> int:
        """Add the words of a file (see `read_words`); returns how many are new.

        A word that is there already takes what the file says of it: its origin, its frequency and
        type where given.
        """
        return self._insert(read_words(path, type=type, skip_bad=skip_bad), update=True)

    def remove(self, words: Iterable[str]) -> int:
        """Remove words, which are not found from the next `match` on; returns how many were there.

        Their ids stay theirs. Raises TypeError (F026) for a single string.
        """
        _refuse_string(words)
        with self._lock:
            ids = {self.index(word) for word in words} - {-1}
            alive = self._content.alive.copy()
            alive[list(ids)] = False
            self._content = replace(self._content, alive=alive)
        return len(ids)

    def declare_types(self, types: Sequence[str]) -> list[int]:
        """Make these known as types that words may have; returns their indices in `type_names`."""
        with self._lock:
            known = dict.fromkeys([*self._content.type_names, *types])
            self._content = replace(self._content, type_names=tuple(known))
        return [self.type_names.index(type) for type in types]

    def _insert(self, entries: Iterable[Entry], update: bool) -> int:
        """Put entries in, and into those already there by `update`; returns how many are new."""
        with self._lock:
            content = self._content
            dropped = Counter(content.dropped)
            new: dict[str, Entry] = {}
            known: dict[int, Entry] = {}
            for entry in entries:
                word = self._normalise(entry.word).strip()
                if fault := self._fault(word):
                    dropped[fault] += 1
                    continue
                _check_frequency(entry)
                id = content.index(word)
                there = id >= 0 and content.alive[id]
                if word in new or id in known or (there and not update):
                    dropped["duplicate"] += 1
                elif id < 0:
                    new[word] = entry
                else:
                    known[id] = entry
            revived = [id for id in known if not content.alive[id]]
            content = content.overwrite(known).append(new)
            self._content = replace(content, dropped=dict(dropped))
        return len(new) + len(revived)

    def _normalise(self, text: str) -> str:
        return fold_full_width(text) if self.full_width else text

    def _fault(self, word: str) -> str | None:
        """Why a word is left out, None if it is not."""
        if not word:
            return "empty"
        if len(word) < self.min_length:
            return "short"
        if len(word) > self.max_length:
            return "long"
        if _UNSEARCHABLE.search(word):
            return "invalid"
        return None

    # Saving and loading

    def to_bytes(self) -> bytes:
        """A header of one line (JSON), then the arrays (safetensors)."""
        header, arrays = self._parts()
        return header + b"\n" + arrays

    @classmethod
    def from_bytes(cls, data: bytes) -> "Lexicon":
        """What `to_bytes` gave. Raises ValueError for damaged data (F024), other formats (F025)."""
        header, _, arrays = data.partition(b"\n")
        return cls._from_parts(header, arrays)

    def to_disk(self, path: str | Path) -> None:
        """Write a directory of two files, the header and the arrays."""
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        header, arrays = self._parts()
        for name, data in ((ARRAYS_FILE, arrays), (HEADER_FILE, header)):
            with replacing(path / name) as temporary:
                temporary.write_bytes(data)

    @classmethod
    def from_disk(cls, path: str | Path) -> "Lexicon":
        """Read what `to_disk` wrote.

        Raises FileNotFoundError (F023) where there is none; otherwise as `from_bytes`.
        """
        path = Path(path)
        for file in (HEADER_FILE, ARRAYS_FILE):
            if not (path / file).is_file():
                raise FileNotFoundError(Errors.F023.format(path=path, file=file))
        return cls._from_parts((path / HEADER_FILE).read_bytes(), (path / ARRAYS_FILE).read_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return Lexicon.from_bytes, (self.to_bytes(),)

    def _parts(self) -> tuple[bytes, bytes]:
        """Header and arrays. The automata are among them: building them again takes seconds."""
        content = self._content
        arrays = {name: getattr(content, name) for name in COLUMNS}
        arrays["text"] = np.frombuffer(content.text, np.uint8)
        for number, automaton in enumerate(content.automata):
            arrays[f"automaton_{number}"] = np.frombuffer(automaton.matcher.serialize(), np.uint8)
        saved = safetensors.numpy.save(arrays)
        header = {
            "format": FORMAT,
            "checksum": zlib.crc32(saved),
            "daachorse": version("daachorse"),
            "full_width": self.full_width,
            "min_length": self.min_length,
            "max_length": self.max_length,
            "type_names": content.type_names,
            "origin_names": content.origin_names,
            "dropped": content.dropped,
            "automata": [automaton.first for automaton in content.automata],
        }
        return json.dumps(header).encode(), saved

    @classmethod
    def _from_parts(cls, header: bytes, saved: bytes) -> "Lexicon":
        settings = _read_header(header)
        if zlib.crc32(saved) != settings.get("checksum"):
            raise ValueError(Errors.F024.format(reason="the checksum of its arrays differs"))
        try:
            lexicon = cls(
                full_width=settings["full_width"],
                min_length=settings["min_length"],
                max_length=settings["max_length"],
            )
            arrays = safetensors.numpy.load(saved)
            content = Content(
                text=arrays["text"].tobytes(),
                offsets=arrays["offsets"],
                lengths=arrays["lengths"],
                frequencies=arrays["frequencies"],
                types=arrays["types"],
                origins=arrays["origins"],
                alive=arrays["alive"],
                type_names=tuple(settings["type_names"]),
                origin_names=tuple(settings["origin_names"]),
                automata=(),
                dropped=settings["dropped"],
            )
            automata = _load_automata(content, arrays, settings)
        except (KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
            raise ValueError(Errors.F024.format(reason=repr(error))) from error
        lexicon._content = replace(content, automata=automata)
        return lexicon


def _refuse_string(values: Iterable[str]) -> None:
    """A string is an iterable of strings, its characters, which nobody means."""
    if isinstance(values, str):
        raise TypeError(Errors.F026.format(value=values[:20]))


def _check_frequency(entry: Entry) -> None:
    if not (entry.frequency == UNKNOWN_FREQUENCY or 0 <= entry.frequency <= FLOAT32_MAX):
        raise ValueError(Errors.F021.format(word=entry.word, value=entry.frequency))


def _read_header(header: bytes) -> dict[str, Any]:
    try:
        settings = json.loads(header)
        found = settings["format"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(Errors.F024.format(reason=f"no header ({error!r})")) from error
    if found != FORMAT:
        raise ValueError(Errors.F025.format(found=found, expected=FORMAT))
    return dict(settings)


def _load_automata(
    content: Content, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
) -> tuple[Automaton, ...]:
    """The saved automata, or the words' built anew where another daachorse saved them."""
    firsts = settings["automata"]
    if settings["daachorse"] == version("daachorse"):
        return tuple(
            Automaton(
                CharwiseDoubleArrayAhoCorasick.deserialize(arrays[f"automaton_{n}"].tobytes()),
                first,
            )
            for n, first in enumerate(firsts)
        )
    ends = [*firsts[1:], content.size]
    return tuple(
        Automaton.build([content.word(id) for id in range(first, end)], first)
        for first, end in zip(firsts, ends, strict=True)
    )
