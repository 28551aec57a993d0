"""From training texts and pretrained vectors to the keys that a network knows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..lexicon import Lexicon, TextVectors
from .gazetteer import Gazetteer
from .lattice import Codes, Ints, KeyIndex, LatticeEncoder, bigram_codes, char_codes, text_codes
from .options import LatticeOptions

_TEXTS_AT_ONCE = 2000


@dataclass(frozen=True)
class Resources:
    """What a network is built from, besides its options and the training texts.

    vectors: each may be missing; their keys are characters, bigrams and words of the lexicon.
    mentions: text and label of each entity of the training corpus.
    """

    labels: Sequence[str]
    lexicon: Lexicon
    char_vectors: TextVectors | None = None
    bigram_vectors: TextVectors | None = None
    word_vectors: TextVectors | None = None
    mentions: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Pretrained:
    """Pretrained vectors [N, d] of some codes; N may be 0."""

    codes: Codes
    vectors: NDArray[np.float32]

    @classmethod
    def select(
        cls, found: TextVectors | None, codes: Codes, places: Ints, options: LatticeOptions
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


@dataclass(frozen=True)
class Vocabulary:
    """An encoder, and the pretrained vectors of what it knows."""

    encoder: LatticeEncoder
    chars: Pretrained
    bigrams: Pretrained
    words: Pretrained

    @classmethod
    def build(
        cls, options: LatticeOptions, resources: Resources, texts: Sequence[str]
    ) -> "Vocabulary":
        chars = _pretrained_characters(resources.char_vectors, 1, options)
        bigrams = _pretrained_characters(resources.bigram_vectors, 2, options)
        words = _pretrained_words(resources, options)
        gazetteer = None
        if options.gazetteer_rate > 0:
            gazetteer = Gazetteer.build(
                resources.mentions, resources.lexicon, options.gazetteer_rate
            )
        char_counts, bigram_counts, word_counts = _count(resources.lexicon, options, texts)
        encoder = LatticeEncoder(
            options,
            resources.lexicon,
            _index(char_counts, options.char_min_freq, chars, options),
            _index(bigram_counts, options.bigram_min_freq, bigrams, options),
            _index(word_counts, options.word_min_freq, words, options),
            len(resources.lexicon.type_names),
            gazetteer,
        )
        return cls(encoder, chars, bigrams, words)

    def columns(self) -> Iterator[tuple[str, KeyIndex, Pretrained]]:
        """The tables that a network needs: their names, keys and pretrained vectors."""
        yield "chars", self.encoder.chars, self.chars
        if self.encoder.options.bigrams:
            yield "bigrams", self.encoder.bigrams, self.bigrams
        yield "words", self.encoder.words, self.words


def _pretrained_characters(
    found: TextVectors | None, size: int, options: LatticeOptions
) -> Pretrained:
    keys = found.keys if found is not None else []
    codes, places = text_codes(keys, size, options.normalise_numbers)
    return Pretrained.select(found, codes, places, options)


def _pretrained_words(resources: Resources, options: LatticeOptions) -> Pretrained:
    keys = resources.word_vectors.keys if resources.word_vectors is not None else []
    ids = np.array([resources.lexicon.index(key) for key in keys], dtype=np.int64)
    places = np.flatnonzero(ids >= 0)
    return Pretrained.select(resources.word_vectors, ids[places].astype(np.uint64), places, options)


def _count(
    lexicon: Lexicon, options: LatticeOptions, texts: Sequence[str]
) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """How often characters, bigrams and words occur in the texts, by code."""
    chars: Counter[int] = Counter()
    bigrams: Counter[int] = Counter()
    words: Counter[int] = Counter()
    for some in _batches(texts):
        codes = char_codes("".join(some), options.normalise_numbers)
        last = np.cumsum([len(text) for text in some]) - 1
        _add(chars, codes)
        _add(bigrams, bigram_codes(codes, last))
        _add(words, lexicon.match(some).words)
    return chars, bigrams, words


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    filled = [text for text in texts if text]
    for start in range(0, len(filled), _TEXTS_AT_ONCE):
        yield filled[start : start + _TEXTS_AT_ONCE]


def _add(counts: Counter[int], codes: NDArray[np.integer]) -> None:
    distinct, times = np.unique(codes, return_counts=True)
    counts.update(dict(zip(distinct.tolist(), times.tolist(), strict=True)))


def _index(
    counts: Counter[int], min_freq: int, pretrained: Pretrained, options: LatticeOptions
) -> KeyIndex:
    frequent = _codes(code for code, times in counts.items() if times >= min_freq)
    if not options.fine_tune:
        frequent = np.setdiff1d(frequent, pretrained.codes)
    return KeyIndex.build(frequent, pretrained.codes)


def _codes(codes: Iterable[int]) -> Codes:
    return np.fromiter(codes, dtype=np.uint64)
