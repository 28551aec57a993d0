"""From training texts, a lexicon and pretrained vectors to what a network knows."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...lexicon import Lexicon
from ...text.vocabulary import (
    NewTable,
    Pretrained,
    Vocabulary,
    add_counts,
    batches_of_texts,
    select_vectors,
)
from ...util.simplified import Simplifier
from ...vectors import VectorSource
from .featuriser import LatticeFeaturiser
from .gazetteer import Gazetteer
from .options import LatticeOptions


def build_vocabulary(
    options: LatticeOptions,
    texts: Sequence[str],
    lexicon: Lexicon,
    *,
    labels: Sequence[str] = (),
    mentions: Sequence[tuple[str, str]] = (),
    char_vectors: VectorSource | None = None,
    bigram_vectors: VectorSource | None = None,
    word_vectors: VectorSource | None = None,
) -> Vocabulary:
    """Build the vocabulary from training texts.

    labels, mentions: entity types, and text and label of each entity of the training corpus.
    vectors: their keys are characters, bigrams and words of the lexicon.
    """
    gazetteer = None
    name_types: Sequence[int] = ()
    if options.gazetteer_rate > 0:
        gazetteer = Gazetteer.build(mentions, lexicon)
        name_types = lexicon.declare_types(labels)
    simplifier = Simplifier.of(texts)
    texts = list(map(simplifier, texts))
    chars = NewTable.of_characters(texts, char_vectors, options)
    bigrams = NewTable.of_characters(texts, bigram_vectors, options, 2)
    words = NewTable.build(
        _count_words(texts, lexicon),
        options.word_min_freq,
        _pretrained_words(word_vectors, lexicon, options),
        options,
    )
    vocabs = (chars.vocab, bigrams.vocab, words.vocab)
    lexicon.simplify(simplifier)  # from now on: vectors are those of words as they are spelled
    n_types = len(lexicon.snapshot.type_names)
    featuriser = LatticeFeaturiser(options, lexicon, *vocabs, n_types, name_types, gazetteer)
    tables = {"chars": chars, "bigrams": bigrams, "words": words}
    if not options.bigrams:
        del tables["bigrams"]
    return Vocabulary(featuriser, tables)


def _pretrained_words(
    source: VectorSource | None, lexicon: Lexicon, options: LatticeOptions
) -> Pretrained:
    found = source.read(lexicon.__contains__) if source is not None else None
    keys = found.keys if found is not None else []
    ids = np.array([lexicon.index(key) for key in keys], dtype=np.uint64)
    return select_vectors(found, ids, np.arange(len(ids)), options)


def _count_words(texts: Sequence[str], lexicon: Lexicon) -> Counter[int]:
    """How often words of the lexicon occur in the texts, by id."""
    words: Counter[int] = Counter()
    for some in batches_of_texts(texts):
        add_counts(words, lexicon.match(some).words)
    return words
