"""The keys by which a network knows characters, bigrams and words, and their pretrained vectors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..util.options import Options
from ..vectors import TextVectors, VectorSource
from .hashing import Hashes, hash_bigrams, hash_characters, hash_entries, hash_words, normalise_word
from .options import TableOptions
from .units import Ints

_TEXTS_AT_ONCE = 2000


@dataclass(frozen=True)
class KeyIndex:
    """Numbers for characters, bigrams or words: sorted `codes` → keys 1 to N, trained ones first.

    A code is a code point, two of them, or what the featuriser makes of a word.
    """

    codes: Hashes  # [N] sorted
    keys: Ints  # [N]
    n_trained: int

    @classmethod
    def build(cls, trained: Hashes, pretrained: Hashes) -> "KeyIndex":
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

    def select(self, chosen: NDArray[np.bool_]) -> "KeyIndex":
        """Some of the codes, chosen [N], under new keys from 1, none of them trained."""
        codes = self.codes[chosen]
        return KeyIndex(codes, np.arange(1, len(codes) + 1), 0)

    def look_up(self, codes: Hashes) -> Ints:
        """[N] → [N] keys, 0 for unknown codes."""
        if not len(self.codes):
            return np.zeros(len(codes), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.keys[places], 0)


def pack(indexes: Mapping[str, KeyIndex], options: Options) -> dict[str, Any]:
    """Indexes as plain data, and the options that they rely on."""
    from safetensors.numpy import save

    arrays = {
        f"{name}.{part}": array
        for name, index in indexes.items()
        for part, array in (("codes", index.codes), ("keys", index.keys))
        # Without trained keys they are numbered as the codes are sorted.
        if part == "codes" or index.n_trained
    }
    n_trained = {name: index.n_trained for name, index in indexes.items()}
    return {"arrays": save(arrays), "n_trained": n_trained, "options": options.fixed()}


def unpack(data: Mapping[str, Any], options: Options) -> dict[str, KeyIndex]:
    """What `pack` packed.

    Raises ValueError (F307) where it relies on other options.
    """
    from safetensors.numpy import load

    options.check_fixed(data["options"])
    arrays = load(data["arrays"])
    return {
        name: _index(arrays[f"{name}.codes"], arrays.get(f"{name}.keys"), n_trained)
        for name, n_trained in data["n_trained"].items()
    }


def _index(codes: Hashes, keys: Ints | None, n_trained: int) -> KeyIndex:
    return KeyIndex(codes, np.arange(1, len(codes) + 1) if keys is None else keys, n_trained)


@dataclass(frozen=True)
class Pretrained:
    """Pretrained vectors [N, d] of some codes; N may be 0."""

    codes: Hashes
    vectors: NDArray[np.float32]

    @classmethod
    def select(
        cls, found: TextVectors | None, codes: Hashes, places: Ints, options: TableOptions
    ) -> "Pretrained":
        """codes[i] is the code of vector number places[i]; the first of equal codes counts."""
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
    def of_words(
        cls,
        source: VectorSource | None,
        options: TableOptions,
        *,
        lower_case: bool,
        normalise_numbers: bool,
    ) -> "Pretrained":
        """The vectors of words. Of those that are looked up alike the one that is written so
        counts, else the first."""
        found = source.read() if source is not None else None
        keys = found.keys if found is not None else []
        forms = (normalise_word(key, lower_case, normalise_numbers) for key in keys)
        exact = np.array([form == key for form, key in zip(forms, keys, strict=True)], dtype=bool)
        places = np.argsort(~exact, kind="stable")
        codes = hash_words(keys, lower_case=lower_case, normalise_numbers=normalise_numbers)
        return cls.select(found, codes[places], places, options)


@dataclass(frozen=True)
class Column:
    """One of the tables that a network embeds: what it knows, and the pretrained part of it.

    coverage: the share of what the training texts consist of that has a pretrained vector; None
        without any pretrained vectors.
    """

    index: KeyIndex
    pretrained: Pretrained
    coverage: float | None = None

    @classmethod
    def build(
        cls,
        counts: Counter[int],
        min_freq: int,
        pretrained: Pretrained,
        options: TableOptions,
    ) -> "Column":
        """counts: how often each code occurs in training."""
        frequent = np.array(
            [code for code, times in counts.items() if times >= min_freq], dtype=np.uint64
        )
        coverage = _coverage(counts, pretrained.codes) if len(pretrained.codes) else None
        if not options.fine_tune:
            frequent = np.setdiff1d(frequent, pretrained.codes)
        return cls(KeyIndex.build(frequent, pretrained.codes), pretrained, coverage)


def _coverage(counts: Counter[int], codes: Hashes) -> float:
    known = codes.tolist()
    return sum(counts[code] for code in known) / max(1, counts.total())


def count_characters(texts: Sequence[str], normalise_numbers: bool = False) -> Counter[int]:
    """How often characters occur in the texts, by code."""
    counts: Counter[int] = Counter()
    for some in batches_of_texts(texts):
        add_counts(counts, hash_characters("".join(some), normalise_numbers))
    return counts


def count_bigrams(texts: Sequence[str], normalise_numbers: bool = False) -> Counter[int]:
    """How often bigrams occur in the texts, by code; that of a text's end is one, too."""
    counts: Counter[int] = Counter()
    for some in batches_of_texts(texts):
        codes = hash_characters("".join(some), normalise_numbers)
        add_counts(counts, hash_bigrams(codes, np.cumsum([len(text) for text in some]) - 1))
    return counts


def count_words(words: Iterable[str], *, lower_case: bool, normalise_numbers: bool) -> Counter[int]:
    """How often words occur, by code."""
    words = Counter(words)
    codes = hash_words(words, lower_case=lower_case, normalise_numbers=normalise_numbers)
    counts: Counter[int] = Counter()
    for code, times in zip(codes.tolist(), words.values(), strict=True):
        counts[code] += times
    return counts


def batches_of_texts(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """The texts that are not empty, some at a time."""
    filled = [text for text in texts if text]
    for start in range(0, len(filled), _TEXTS_AT_ONCE):
        yield filled[start : start + _TEXTS_AT_ONCE]


def add_counts(counts: Counter[int], codes: NDArray[np.integer]) -> None:
    """Count codes."""
    distinct, times = np.unique(codes, return_counts=True)
    counts.update(dict(zip(distinct.tolist(), times.tolist(), strict=True)))
