"""The vocabularies of networks: keys of characters, bigrams and words, and their pretrained
vectors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..nn.unknowns import UNKNOWN_BITS
from ..util.arrays import Bools, Float32s, Hashes, Ints
from ..util.options import Options
from ..vectors import TextVectors, VectorSource
from .hashing import hash_bigrams, hash_characters, hash_entries, hash_words, normalise_word
from .options import TableOptions

_TEXTS_AT_ONCE = 2000
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class KeyIndex:
    """Keys 1 to N of characters, bigrams or words by their hashes; trained ones come first."""

    codes: Hashes  # [N] sorted
    keys: Ints  # [N]
    n_trained: int

    @classmethod
    def build(cls, trained: Hashes, pretrained: Hashes) -> "KeyIndex":
        """trained, pretrained: hashes of what has a trained, or a pretrained vector."""
        ordered = np.concatenate([trained, np.setdiff1d(pretrained, trained)])
        order = np.argsort(ordered)
        return cls(ordered[order], order.astype(np.int64) + 1, len(trained))

    @classmethod
    def empty(cls) -> "KeyIndex":
        none = np.zeros(0, dtype=np.uint64)
        return cls.build(none, none)

    def __len__(self) -> int:
        return len(self.codes)

    def select(self, chosen: Bools) -> "KeyIndex":
        """The chosen [N] hashes under new keys from 1, none of them trained."""
        codes = self.codes[chosen]
        return KeyIndex(codes, np.arange(1, len(codes) + 1), 0)

    def look_up(self, codes: Hashes, hash_unknowns: bool = False) -> Ints:
        """[N] hashes → [N] keys, for unknown ones 0, or -1 to -`UNKNOWNS` by their hashes."""
        unknown = np.zeros(len(codes), dtype=np.int64)
        if hash_unknowns:
            # Multiplied, since the hash of a character is its code point (Fibonacci hashing).
            unknown = -1 - (codes * _GOLDEN >> np.uint64(64 - UNKNOWN_BITS)).astype(np.int64)
        if not len(self.codes):
            return unknown
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.keys[places], unknown)


def pack(indexes: Mapping[str, KeyIndex], options: Options) -> dict[str, Any]:
    """Indexes and the options that they rely on, as plain data."""
    from safetensors.numpy import save

    arrays = {
        f"{name}.{part}": array
        for name, index in indexes.items()
        for part, array in (("codes", index.codes), ("keys", index.keys))
        # Without trained keys the keys follow the order of the hashes.
        if part == "codes" or index.n_trained
    }
    n_trained = {name: index.n_trained for name, index in indexes.items()}
    return {"arrays": save(arrays), "n_trained": n_trained, "options": options.fixed()}


def unpack(data: Mapping[str, Any], options: Options) -> dict[str, KeyIndex]:
    """The inverse of `pack`. Raises ValueError (F307) if the options differ."""
    from safetensors.numpy import load

    options.check_fixed(data["options"])
    arrays = load(data["arrays"])
    indexes = {}
    for name, n_trained in data["n_trained"].items():
        codes, keys = arrays[f"{name}.codes"], arrays.get(f"{name}.keys")
        keys = np.arange(1, len(codes) + 1) if keys is None else keys
        indexes[name] = KeyIndex(codes, keys, n_trained)
    return indexes


@dataclass(frozen=True)
class Pretrained:
    """Pretrained vectors [N, d] by hash; N may be 0."""

    codes: Hashes
    vectors: Float32s

    @classmethod
    def select(
        cls, found: TextVectors | None, codes: Hashes, places: Ints, options: TableOptions
    ) -> "Pretrained":
        """codes[i] is the hash of vector number places[i]; the first of equal hashes counts."""
        if found is None:
            return cls(codes[:0], np.zeros((0, options.embed_width), dtype=np.float32))
        codes, first = np.unique(codes, return_index=True)
        vectors = found.data[places[first]]
        if options.normalise_embeddings:
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.maximum(norms, 1e-12)
        return cls(codes, vectors)

    @classmethod
    def of_characters(
        cls,
        source: VectorSource | None,
        size: int,
        options: TableOptions,
        normalise_numbers: bool = False,
    ) -> "Pretrained":
        """The vectors of characters (size 1) or bigrams (size 2)."""
        found = source.read(lambda key: len(key) == size) if source is not None else None
        keys = found.keys if found is not None else []
        codes, places = hash_entries(keys, size, normalise_numbers)
        return cls.select(found, codes, places, options)

    @classmethod
    def of_words(cls, source: VectorSource | None, options: Any) -> "Pretrained":
        """The vectors of words. Of those with the same form, the one spelled like it counts, else
        the first."""
        found = source.read() if source is not None else None
        keys = found.keys if found is not None else []
        exact = np.array([normalise_word(key, options) == key for key in keys], dtype=bool)
        places = np.argsort(~exact, kind="stable")
        return cls.select(found, hash_words(keys, options)[places], places, options)


@dataclass(frozen=True)
class Column:
    """The vocabulary of one embedding table, and its pretrained vectors.

    coverage: the share of the training texts with a pretrained vector; None without any.
    """

    index: KeyIndex
    pretrained: Pretrained
    coverage: float | None = None

    @classmethod
    def build(
        cls, counts: Counter[int], min_freq: int, pretrained: Pretrained, options: TableOptions
    ) -> "Column":
        """counts: of hashes in the training texts."""
        frequent = np.array([code for code, n in counts.items() if n >= min_freq], dtype=np.uint64)
        coverage = None
        if known := pretrained.codes.tolist():
            coverage = sum(counts[code] for code in known) / max(1, counts.total())
        if not options.fine_tune:
            frequent = np.setdiff1d(frequent, pretrained.codes)
        return cls(KeyIndex.build(frequent, pretrained.codes), pretrained, coverage)

    @property
    def fixed(self) -> "Column":
        """The column without trained vectors, where there are pretrained ones."""
        codes = self.pretrained.codes
        return replace(self, index=KeyIndex.build(codes[:0], codes)) if len(codes) else self

    @property
    def scale(self) -> float:
        """The root mean square of a number in its vectors."""
        vectors = self.pretrained.vectors
        return (
            float(np.sqrt(np.square(vectors).mean())) if len(vectors) else vectors.shape[1] ** -0.5
        )

    # `options` has the fields of UnitOptions that the table needs.

    @classmethod
    def of_characters(
        cls, texts: Sequence[str], source: VectorSource | None, options: Any, size: int = 1
    ) -> "Column":
        """Of characters (size 1) or bigrams (size 2)."""
        counts = count_characters(texts, size, options.normalise_numbers)
        found = Pretrained.of_characters(source, size, options, options.normalise_numbers)
        min_freq = options.char_min_freq if size == 1 else options.bigram_min_freq
        return cls.build(counts, min_freq, found, options)

    @classmethod
    def of_words(cls, words: Iterable[str], source: VectorSource | None, options: Any) -> "Column":
        counted = Counter(words)
        counts: Counter[int] = Counter()
        for code, n in zip(hash_words(counted, options).tolist(), counted.values(), strict=True):
            counts[code] += n
        found = Pretrained.of_words(source, options)
        return cls.build(counts, options.word_min_freq, found, options)


def count_characters(
    texts: Sequence[str], size: int = 1, normalise_numbers: bool = False
) -> Counter[int]:
    """The counts of characters (size 1), or of bigrams (size 2), those of the texts' ends included,
    by hash."""
    counts: Counter[int] = Counter()
    for some in batches_of_texts(texts):
        codes = hash_characters("".join(some), normalise_numbers)
        if size == 2:
            codes = hash_bigrams(codes, np.cumsum([len(text) for text in some]) - 1)
        add_counts(counts, codes)
    return counts


def batches_of_texts(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """The non-empty texts, some at a time."""
    filled = [text for text in texts if text]
    for start in range(0, len(filled), _TEXTS_AT_ONCE):
        yield filled[start : start + _TEXTS_AT_ONCE]


def add_counts(counts: Counter[int], codes: NDArray[np.integer]) -> None:
    distinct, times = np.unique(codes, return_counts=True)
    counts.update(dict(zip(distinct.tolist(), times.tolist(), strict=True)))


class Vocabulary(NamedTuple):
    """A featuriser and embedding tables built from training texts; the tables by the network's
    names."""

    featuriser: Any  # with options
    columns: dict[str, Column]
