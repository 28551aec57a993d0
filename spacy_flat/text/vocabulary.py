"""The vocabularies of embedding tables: ids of characters, bigrams and words by their hashes."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..util.arrays import OOV_BITS, Float32s, Hashes, Ints
from ..util.options import Options
from ..vectors import TextVectors, VectorSource
from .options import TableOptions

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(21)  # a code point has 21 bits
_DIGITS = str.maketrans("123456789１２３４５６７８９０", "0" * 19)


@dataclass(frozen=True)
class TableVocab:
    """Ids 1 to N of an embedding table's entries by their hashes; trained ones come first."""

    hashes: Hashes  # [N] sorted
    ids: Ints  # [N]
    n_trained: int

    @classmethod
    def build(cls, trained: Hashes, pretrained: Hashes) -> "TableVocab":
        """trained, pretrained: hashes of what has a trained, or a pretrained vector."""
        ordered = np.concatenate([trained, np.setdiff1d(pretrained, trained)])
        order = np.argsort(ordered)
        return cls(ordered[order], order.astype(np.int64) + 1, len(trained))

    @classmethod
    def empty(cls) -> "TableVocab":
        none = np.zeros(0, dtype=np.uint64)
        return cls.build(none, none)

    def __len__(self) -> int:
        return len(self.hashes)

    def look_up(self, hashes: Hashes, hash_unknowns: bool = False) -> Ints:
        """[N] hashes → [N] ids, for unknown ones 0, or -1 to -2¹⁴ by their hashes."""
        unknown = np.zeros(len(hashes), dtype=np.int64)
        if hash_unknowns:
            # Multiplied, since the hash of a character is its code point (Fibonacci hashing).
            unknown = -1 - (hashes * _GOLDEN >> np.uint64(64 - OOV_BITS)).astype(np.int64)
        if not len(self.hashes):
            return unknown
        rows = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[rows] == hashes, self.ids[rows], unknown)


def pack(vocabs: Mapping[str, TableVocab], options: Options) -> dict[str, Any]:
    """Vocabularies and the options that they rely on, as plain data."""
    from safetensors.numpy import save

    arrays: dict[str, NDArray[Any]] = {}
    for name, vocab in vocabs.items():
        arrays[f"{name}.codes"] = vocab.hashes
        if vocab.n_trained:  # otherwise the ids follow the order of the hashes
            arrays[f"{name}.keys"] = vocab.ids
    n_trained = {name: vocab.n_trained for name, vocab in vocabs.items()}
    return {"arrays": save(arrays), "n_trained": n_trained, "options": options.fixed()}


def unpack(data: Mapping[str, Any], options: Options) -> dict[str, TableVocab]:
    """The inverse of `pack`. Raises ValueError (F307) if the options differ."""
    from safetensors.numpy import load

    options.check_fixed(data["options"])
    arrays = load(data["arrays"])
    vocabs = {}
    for name, n_trained in data["n_trained"].items():
        hashes, ids = arrays[f"{name}.codes"], arrays.get(f"{name}.keys")
        ids = np.arange(1, len(hashes) + 1) if ids is None else ids
        vocabs[name] = TableVocab(hashes, ids, n_trained)
    return vocabs


class Pretrained(NamedTuple):
    """Pretrained vectors [N, d] by hash; N may be 0."""

    hashes: Hashes
    vectors: Float32s


@dataclass(frozen=True)
class NewTable:
    """An embedding table to build.

    coverage: the share of the training texts with a pretrained vector.
    """

    vocab: TableVocab
    pretrained: Pretrained
    coverage: float

    @classmethod
    def build(
        cls, counts: Counter[int], min_freq: int, pretrained: Pretrained, options: TableOptions
    ) -> "NewTable":
        """counts: of hashes in the training texts."""
        frequent = np.array([code for code, n in counts.items() if n >= min_freq], dtype=np.uint64)
        known = sum(counts[code] for code in pretrained.hashes.tolist())
        if not options.fine_tune:
            frequent = np.setdiff1d(frequent, pretrained.hashes)
        vocab = TableVocab.build(frequent, pretrained.hashes)
        return cls(vocab, pretrained, known / max(1, counts.total()))

    # `options` has the fields of UnitOptions that the table needs.

    @classmethod
    def of_characters(
        cls, texts: Sequence[str], source: VectorSource | None, options: Any, size: int = 1
    ) -> "NewTable":
        """Of characters (size 1) or bigrams (size 2)."""
        counts = count_characters(texts, size, options.normalise_numbers)
        pretrained = character_vectors(source, size, options, options.normalise_numbers)
        return cls.build(counts, options.min_freq, pretrained, options)

    @classmethod
    def of_words(
        cls, words: Iterable[str], source: VectorSource | None, options: Any
    ) -> "NewTable":
        """Of words with the same form, the first vector counts."""
        counts = count_codes(hash_words(words, options))
        found = source.read() if source is not None else None
        hashes = hash_words(found.keys if found is not None else [], options)
        pretrained = select_vectors(found, hashes, options)
        return cls.build(counts, options.word_min_freq or options.min_freq, pretrained, options)

    @property
    def fixed(self) -> "NewTable":
        """The table without trained vectors, where there are pretrained ones."""
        hashes = self.pretrained.hashes
        fixed = TableVocab.build(hashes[:0], hashes)
        return replace(self, vocab=fixed) if len(hashes) else self

    @property
    def scale(self) -> float:
        """The root mean square of a number in its vectors."""
        vectors = self.pretrained.vectors
        return (
            float(np.sqrt(np.square(vectors).mean())) if len(vectors) else vectors.shape[1] ** -0.5
        )


class Vocabulary(NamedTuple):
    """A featuriser built from training texts, and its embedding tables by their names."""

    featuriser: Any  # with options
    tables: dict[str, NewTable]


def select_vectors(found: TextVectors | None, hashes: Hashes, options: TableOptions) -> Pretrained:
    """hashes[i] is that of vector number i; the first of equal hashes counts."""
    if found is None:
        return Pretrained(hashes[:0], np.zeros((0, options.embed_width), dtype=np.float32))
    hashes, first = np.unique(hashes, return_index=True)
    vectors = found.data[first]
    if options.normalise_embeddings:
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return Pretrained(hashes, vectors)


def character_vectors(
    source: VectorSource | None, size: int, options: TableOptions, normalise_numbers: bool = False
) -> Pretrained:
    """The pretrained vectors of characters (size 1) or bigrams (size 2)."""
    found = source.read(lambda key: len(key) == size) if source is not None else None
    keys = found.keys if found is not None else []
    codes = hash_characters("".join(keys), normalise_numbers)
    if size == 2:
        codes = hash_bigrams(codes, np.arange(0))[::2]
    return select_vectors(found, codes, options)


def count_characters(
    texts: Iterable[str], size: int = 1, normalise_numbers: bool = False
) -> Counter[int]:
    """The counts of characters (size 1), or bigrams (size 2) with those at texts' ends, by hash."""
    filled = [text for text in texts if text]
    codes = hash_characters("".join(filled), normalise_numbers)
    if size == 2:
        ends = np.cumsum([len(text) for text in filled], dtype=np.int64) - 1
        codes = hash_bigrams(codes, ends)
    return count_codes(codes)


def count_codes(codes: NDArray[np.integer]) -> Counter[int]:
    distinct, times = np.unique(codes, return_counts=True)
    return Counter(dict(zip(distinct.tolist(), times.tolist(), strict=True)))


def hash_characters(text: str, normalise_numbers: bool) -> Hashes:
    """[C] code points; normalising numbers turns all digits into 0."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    if normalise_numbers:
        for zero in "0０":
            codes = np.where((codes >= ord(zero)) & (codes < ord(zero) + 10), ord("0"), codes)
    return codes.astype(np.uint64)


def hash_bigrams(codes: Hashes, last: Ints) -> Hashes:
    """[C] characters → [C] pairs with their right neighbours.

    last: places of the segments' last characters, whose neighbour is the end mark, 0.
    """
    following = np.zeros_like(codes)
    following[:-1] = codes[1:]
    following[last] = 0
    both: Hashes = (codes << _SHIFT) | following
    return both


def hash_words(words: Iterable[str], form: Any) -> Hashes:
    """[N] 64-bit hashes of words, the same on every machine. form: as in `normalise_word`."""
    words = list(words)
    hashes = {}
    for word in dict.fromkeys(words):
        data = normalise_word(word, form).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, digest_size=8).digest()
        hashes[word] = int.from_bytes(digest, "little")
    return np.fromiter((hashes[word] for word in words), np.uint64, len(words))


def normalise_word(word: str, form: Any) -> str:
    """How a word is looked up, by the options `lower_case` and `normalise_numbers`."""
    word = word.lower() if form.lower_case else word
    return word.translate(_DIGITS) if form.normalise_numbers else word
