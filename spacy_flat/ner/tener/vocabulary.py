"""From training texts and pretrained vectors to what a network knows."""

from collections.abc import Sequence
from typing import NamedTuple

from ...text.units import Units
from ...text.vocabulary import (
    Column,
    KeyIndex,
    Pretrained,
    count_bigrams,
    count_characters,
    count_words,
)
from ...vectors import VectorSource
from .options import SequenceOptions
from .sequence import SequenceFeaturiser


class Vocabulary(NamedTuple):
    """An featuriser, and the tables that its network needs."""

    featuriser: SequenceFeaturiser
    columns: dict[str, Column]


def build_vocabulary(
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
    characters = [text.text for text in texts]
    digits = options.normalise_numbers
    chars = Column.build(
        count_characters(characters, digits),
        options.char_min_freq,
        Pretrained.of_characters(char_vectors, 1, options, digits),
        options,
    )
    if options.unit == "token":
        form = {"lower_case": options.lower_case, "normalise_numbers": digits}
        counted = (word for text in texts for word in text.strings(0, len(text)))
        words = Column.build(
            count_words(counted, **form),
            options.word_min_freq,
            Pretrained.of_words(word_vectors, options, **form),
            options,
        )
        featuriser = SequenceFeaturiser(options, chars.index, none, words.index)
        return Vocabulary(featuriser, {"words": words})
    bigrams = Column.build(
        count_bigrams(characters, digits),
        options.bigram_min_freq,
        Pretrained.of_characters(bigram_vectors, 2, options, digits),
        options,
    )
    featuriser = SequenceFeaturiser(options, chars.index, bigrams.index, none)
    used = {"chars": options.characters, "bigrams": options.bigrams}
    columns = {"chars": chars, "bigrams": bigrams}
    return Vocabulary(featuriser, {name: columns[name] for name in columns if used[name]})
