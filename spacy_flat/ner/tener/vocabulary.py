"""From training texts and pretrained vectors to what a network knows."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...text.codes import normalise_word
from ...text.units import Units
from ...text.vocabulary import Column, KeyIndex, Pretrained, count_characters
from ...vectors import VectorSource
from .options import SequenceOptions
from .sequence import SequenceEncoder, codes_of_words


class Vocabulary(NamedTuple):
    """An encoder, and the tables that its network needs."""

    encoder: SequenceEncoder
    columns: dict[str, Column]


def learn_vocabulary(
    options: SequenceOptions,
    texts: Sequence[Units],
    *,
    char_vectors: VectorSource | None = None,
    bigram_vectors: VectorSource | None = None,
    word_vectors: VectorSource | None = None,
) -> Vocabulary:
    """Take stock of the training texts.

    vectors: of characters and bigrams, or of words.
    """
    none = KeyIndex.empty()
    char_counts, bigram_counts = count_characters([text.text for text in texts], options)
    chars = Column.build(
        char_counts,
        options.char_min_freq,
        Pretrained.of_characters(char_vectors, 1, options),
        options,
    )
    if options.unit == "token":
        words = Column.build(
            _count_words(texts, options),
            options.word_min_freq,
            _pretrained_words(word_vectors, options),
            options,
        )
        encoder = SequenceEncoder(options, chars.index, none, words.index)
        return Vocabulary(encoder, {"words": words})
    bigrams = Column.build(
        bigram_counts,
        options.bigram_min_freq,
        Pretrained.of_characters(bigram_vectors, 2, options),
        options,
    )
    encoder = SequenceEncoder(options, chars.index, bigrams.index, none)
    columns = {"chars": chars, "bigrams": bigrams} if options.bigrams else {"chars": chars}
    return Vocabulary(encoder, columns)


def _count_words(texts: Sequence[Units], options: SequenceOptions) -> Counter[int]:
    """How often words occur in the texts, by code."""
    words = Counter(word for text in texts for word in text.strings(0, len(text)))
    counts: Counter[int] = Counter()
    for code, times in zip(codes_of_words(words, options).tolist(), words.values(), strict=True):
        counts[code] += times
    return counts


def _pretrained_words(source: VectorSource | None, options: SequenceOptions) -> Pretrained:
    """Of words that are looked up alike the one that is written so counts, else the first."""
    found = source.read() if source is not None else None
    keys = found.keys if found is not None else []
    forms = (normalise_word(key, options.lower_case, options.normalise_numbers) for key in keys)
    exact = np.array([form == key for form, key in zip(forms, keys, strict=True)], dtype=bool)
    places = np.argsort(~exact, kind="stable")
    return Pretrained.select(found, codes_of_words(keys, options)[places], places, options)
