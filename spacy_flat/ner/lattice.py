"""Texts → lattice batches: characters, bigrams and the lexicon's words as padded numbers.

Shapes: B segments, C characters, M words, L = C + M nodes, characters first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray
from safetensors.numpy import load, save

from ..lexicon import Lexicon
from .gazetteer import Gazetteer, WordNodes
from .options import LatticeOptions
from .segments import Segment

Ints = NDArray[np.int64]
Codes = NDArray[np.uint64]

N_BANDS = 8  # of word frequency
BATCH_PAIRS = 50_000  # pairs of nodes whose attention takes as long as a batch does anyway
_SHIFT = np.uint64(21)  # a code point has 21 bits


@dataclass(frozen=True)
class LatticeBatch:
    """Some segments as numbers. Keys are 0 where unknown or padding."""

    segments: tuple[Segment, ...]
    n_chars: Ints  # [B]
    chars: Ints  # [B, C] keys
    bigrams: Ints  # [B, C] keys of a character and its right neighbour
    words: Ints  # [B, M] keys
    types: Ints  # [B, M] word types; 0 unknown
    lengths: Ints  # [B, M] characters of a word; 0 padding
    bands: Ints  # [B, M] bands of word frequency; 0 unknown
    heads: Ints  # [B, L] place of a node's first character in the segment
    tails: Ints  # [B, L] and of its last
    present: NDArray[np.bool_]  # [B, L] False for padding


@dataclass(frozen=True)
class KeyIndex:
    """Numbers for characters, bigrams or words: sorted `codes` → keys 1 to N, trained ones first.

    A code is a code point, two of them, or a word's id in the lexicon.
    """

    codes: Codes  # [N] sorted
    keys: Ints  # [N]
    n_trained: int

    @classmethod
    def build(cls, trained: Codes, pretrained: Codes) -> "KeyIndex":
        """trained: codes that get a trained vector; pretrained: codes with a pretrained one."""
        ordered = np.concatenate([trained, np.setdiff1d(pretrained, trained)])
        order = np.argsort(ordered)
        return cls(ordered[order], order.astype(np.int64) + 1, len(trained))

    @classmethod
    def empty(cls) -> "KeyIndex":
        none = np.zeros(0, dtype=np.uint64)
        return cls.build(none, none)

    def __len__(self) -> int:
        return len(self.codes)

    def look_up(self, codes: Codes) -> Ints:
        """[N] → [N] keys, 0 for unknown codes."""
        if not len(self.codes):
            return np.zeros(len(codes), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.keys[places], 0)


def char_codes(text: str, normalise_numbers: bool) -> Codes:
    """[C] code points; digits all become 0 when numbers are normalised."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    if normalise_numbers:
        for zero in "0０":
            codes = np.where((codes >= ord(zero)) & (codes < ord(zero) + 10), ord("0"), codes)
    return codes.astype(np.uint64)


def bigram_codes(codes: Codes, last: Ints) -> Codes:
    """[C] codes of characters → [C] codes of them and their right neighbours.

    last: places of the last characters of segments: their neighbour is the end mark, code 0.
    """
    following = np.zeros_like(codes)
    following[:-1] = codes[1:]
    following[last] = 0
    both: Codes = (codes << _SHIFT) | following
    return both


def text_codes(entries: Sequence[str], size: int, normalise_numbers: bool) -> tuple[Codes, Ints]:
    """Codes of the entries of one character (size 1) or two (size 2), and their places."""
    places = np.array([i for i, entry in enumerate(entries) if len(entry) == size], dtype=np.int64)
    codes = char_codes("".join(entries[place] for place in places), normalise_numbers)
    return (codes if size == 1 else (codes[::2] << _SHIFT) | codes[1::2]), places


@dataclass
class LatticeEncoder:
    """Turns texts into batches. Knows what the network's numbers mean.

    n_types: word types numbered from here on were unknown in training and become 0.
    """

    options: LatticeOptions
    lexicon: Lexicon
    chars: KeyIndex
    bigrams: KeyIndex
    words: KeyIndex
    n_types: int
    gazetteer: Gazetteer | None = None  # for training; not saved
    _bands: tuple[Any, NDArray[np.int8]] = field(
        default=(None, np.zeros(0, np.int8)), init=False, repr=False
    )

    @classmethod
    def empty(cls, options: LatticeOptions) -> "LatticeEncoder":
        none = KeyIndex.empty()
        return cls(options, Lexicon(), none, none, none, 0)

    def batches(
        self, texts: Sequence[str], segments: Sequence[Segment], is_train: bool = False
    ) -> Iterator[LatticeBatch]:
        """Batches of segments of like size, each of at most `batch_nodes` nodes with padding (or
        of one segment). In training the gazetteer shows some of its names."""
        if not segments:
            return
        pieces = [texts[segment.text][segment.start : segment.end] for segment in segments]
        flat = _FlatLattice(self, pieces, self.gazetteer if is_train else None)
        order = np.lexsort((flat.n_words, flat.n_chars))
        for rows in _cut(order, flat.n_chars, flat.n_words, self.options.batch_nodes):
            yield flat.pad(rows, tuple(segments[row] for row in rows))

    def words_in(self, texts: Sequence[str]) -> WordNodes:
        """The words of the lexicon in texts, and what the network knows of them."""
        matches = self.lexicon.match(texts)
        keys = self.words.look_up(matches.words.astype(np.uint64))
        types = self.lexicon.types[matches.words].astype(np.int64)
        nodes = WordNodes(
            texts=matches.texts.astype(np.int64),
            starts=matches.starts.astype(np.int64),
            ends=matches.ends.astype(np.int64),
            keys=keys,
            types=np.where(types < self.n_types, types, 0),
            bands=self.bands(matches.words),
        )
        return nodes.select(keys > 0) if self.options.only_known_words else nodes

    def bands(self, words: NDArray[np.int32]) -> Ints:
        """[N] ids of words → [N] bands of their frequency; 0 unknown."""
        frequencies, bands = self._bands
        # Made once for all words, which takes milliseconds, until the lexicon changes.
        if frequencies is not self.lexicon.frequencies:
            frequencies, bands = self.lexicon.frequencies, self.lexicon.frequency_bands(N_BANDS)
            self._bands = frequencies, bands
        return bands[words].astype(np.int64)

    def to_bytes(self) -> bytes:
        """All but the options, which are the config's."""
        arrays = {
            f"{name}.{part}": array
            for name, index in (
                ("chars", self.chars),
                ("bigrams", self.bigrams),
                ("words", self.words),
            )
            for part, array in (("codes", index.codes), ("keys", index.keys))
        }
        header = {
            "n_types": self.n_types,
            "n_trained": [index.n_trained for index in (self.chars, self.bigrams, self.words)],
        }
        fields = {"header": header, "arrays": save(arrays), "lexicon": self.lexicon.to_bytes()}
        return bytes(srsly.msgpack_dumps(fields))

    def from_bytes(self, data: bytes) -> "LatticeEncoder":
        """A new encoder with these options and that data."""
        fields = srsly.msgpack_loads(data)
        arrays = load(fields["arrays"])
        chars, bigrams, words = (
            KeyIndex(arrays[f"{name}.codes"], arrays[f"{name}.keys"], n_trained)
            for name, n_trained in zip(
                ("chars", "bigrams", "words"), fields["header"]["n_trained"], strict=True
            )
        )
        lexicon = Lexicon.from_bytes(fields["lexicon"])
        n_types = fields["header"]["n_types"]
        return LatticeEncoder(self.options, lexicon, chars, bigrams, words, n_types)


class _FlatLattice:
    """All segments' characters and words one after the other, before padding."""

    def __init__(
        self, encoder: LatticeEncoder, pieces: Sequence[str], gazetteer: Gazetteer | None
    ) -> None:
        self.n_chars = np.array([len(piece) for piece in pieces], dtype=np.int64)
        self.char_starts = np.cumsum(self.n_chars) - self.n_chars
        codes = char_codes("".join(pieces), encoder.options.normalise_numbers)
        self.chars = encoder.chars.look_up(codes)
        last = self.char_starts + self.n_chars - 1
        self.bigrams = encoder.bigrams.look_up(bigram_codes(codes, last))
        nodes = encoder.words_in(pieces)
        if gazetteer is not None:
            nodes = gazetteer.show_some(nodes, pieces)
        self.n_words = np.bincount(nodes.texts, minlength=len(pieces)).astype(np.int64)
        self.word_starts = np.cumsum(self.n_words) - self.n_words
        self.words = nodes.keys
        self.types = nodes.types
        self.bands = nodes.bands
        self.heads = nodes.starts
        self.lengths = nodes.ends - nodes.starts

    def pad(self, rows: Ints, segments: tuple[Segment, ...]) -> LatticeBatch:
        char_places, has_char = _padding(self.char_starts[rows], self.n_chars[rows])
        word_places, has_word = _padding(self.word_starts[rows], self.n_words[rows])
        heads = _take(self.heads, word_places, has_word)
        lengths = _take(self.lengths, word_places, has_word)
        C = has_char.shape[1]
        char_heads = np.broadcast_to(np.arange(C), has_char.shape)
        return LatticeBatch(
            segments=segments,
            n_chars=self.n_chars[rows],
            chars=_take(self.chars, char_places, has_char),
            bigrams=_take(self.bigrams, char_places, has_char),
            words=_take(self.words, word_places, has_word),
            types=_take(self.types, word_places, has_word),
            lengths=lengths,
            bands=_take(self.bands, word_places, has_word),
            heads=np.concatenate([char_heads, heads], axis=1),
            tails=np.concatenate([char_heads, heads + np.maximum(lengths - 1, 0)], axis=1),
            present=np.concatenate([has_char, has_word], axis=1),
        )


def _padding(starts: Ints, counts: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """[B] starts and counts of rows in a flat array → [B, longest] places in it, and which of them
    are not padding."""
    columns = np.arange(counts.max(initial=0))
    present = columns < counts[:, None]
    return np.where(present, starts[:, None] + columns, 0), present


def _take(flat: Ints, places: Ints, present: NDArray[np.bool_]) -> Ints:
    if not len(flat):
        return np.zeros(places.shape, dtype=np.int64)
    return np.where(present, flat[places], 0)


def _cut(order: Ints, n_chars: Ints, n_words: Ints, max_nodes: int) -> Iterator[Ints]:
    """Cut the segments, in this order, where a padded batch would pass `max_nodes`, or where what
    it computes for padding would cost more than the start of another batch."""
    start = 0
    chars = words = pairs = 0
    for place, row in enumerate(order):
        own_chars, own_words = int(n_chars[row]), int(n_words[row])
        chars, words = max(chars, own_chars), max(words, own_words)
        pairs += own_chars * (own_chars + own_words)
        padded_nodes = (place + 1 - start) * (chars + words)
        padding = padded_nodes * chars - pairs
        if place > start and (padded_nodes > max_nodes or padding > pairs // 2 + BATCH_PAIRS):
            yield order[start:place]
            start, chars, words = place, own_chars, own_words
            pairs = own_chars * (own_chars + own_words)
    yield order[start:]
