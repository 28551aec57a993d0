"""From training texts and pretrained vectors to what a network knows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...text.units import Units
from ...text.vocabulary import Column, KeyIndex, Pretrained, count_characters
from ...vectors import VectorSource
from .options import SequenceOptions
from .sequence import SequenceEncoder, normalise, word_codes


@dataclass(frozen=True)
class Resources:
    """What a network is built from, besides its options and the training texts.

    vectors: each may be missing; of characters and bigrams, or of words.
    """

    labels: Sequence[str]
    char_vectors: VectorSource | None = None
    bigram_vectors: VectorSource | None = None
    word_vectors: VectorSource | None = None


@dataclass(frozen=True)
class Vocabulary:
    """An encoder, and the tables that its network needs."""

    encoder: SequenceEncoder
    columns: dict[str, Column]

    @classmethod
    def build(
        cls, options: SequenceOptions, resources: Resources, texts: Sequence[Units]
    ) -> "Vocabulary":
        none = KeyIndex.empty()
        char_counts, bigram_counts = count_characters([text.text for text in texts], options)
        chars = Column.build(
            char_counts,
            options.char_min_freq,
            Pretrained.of_characters(resources.char_vectors, 1, options),
            options,
        )
        if options.unit == "token":
            words = Column.build(
                _count_words(texts, options),
                options.word_min_freq,
                _pretrained_words(resources.word_vectors, options),
                options,
            )
            encoder = SequenceEncoder(options, chars.index, none, words.index)
            return cls(encoder, {"words": words})
        bigrams = Column.build(
            bigram_counts,
            options.bigram_min_freq,
            Pretrained.of_characters(resources.bigram_vectors, 2, options),
            options,
        )
        encoder = SequenceEncoder(options, chars.index, bigrams.index, none)
        columns = {"chars": chars, "bigrams": bigrams} if options.bigrams else {"chars": chars}
        return cls(encoder, columns)


def _count_words(texts: Sequence[Units], options: SequenceOptions) -> Counter[int]:
    """How often words occur in the texts, by code."""
    words = Counter(word for text in texts for word in text.strings(0, len(text)))
    counts: Counter[int] = Counter()
    for code, times in zip(word_codes(words, options).tolist(), words.values(), strict=True):
        counts[code] += times
    return counts


def _pretrained_words(source: VectorSource | None, options: SequenceOptions) -> Pretrained:
    """Of words that are looked up alike the one that is written so counts, else the first."""
    found = source.read() if source is not None else None
    keys = found.keys if found is not None else []
    exact = np.array([normalise(key, options) == key for key in keys], dtype=bool)
    places = np.argsort(~exact, kind="stable")
    return Pretrained.select(found, word_codes(keys, options)[places], places, options)
