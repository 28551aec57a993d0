"""The vocabulary of training texts."""

from collections.abc import Sequence

import numpy as np

from ..text.vocabulary import NewTable, Pretrained, Vocabulary, character_vectors, count_characters
from ..util.simplified import Simplifier
from ..vectors import VectorSource
from .featuriser import END, START, CharFeaturiser
from .options import TextOptions


def build_vocabulary(
    options: TextOptions, texts: Sequence[str], char_vectors: VectorSource | None = None
) -> Vocabulary:
    """Build the featuriser and the table of its network from training texts.

    A character that only the vectors have stays unknown: the network would never predict it.
    """
    simplifier = Simplifier.of(texts)
    counts = count_characters(list(map(simplifier, texts)))
    for mark in (START, END):
        counts[mark] = max(len(texts), options.char_min_freq)
    known = [code for code, times in counts.items() if times >= options.char_min_freq]
    found = character_vectors(char_vectors, 1, options)
    useful = np.isin(found.hashes, np.array(known, dtype=np.uint64))
    pretrained = Pretrained(found.hashes[useful], found.vectors[useful])
    table = NewTable.build(counts, options.char_min_freq, pretrained, options)
    return Vocabulary(CharFeaturiser(options, table.vocab, simplifier), {"chars": table})
