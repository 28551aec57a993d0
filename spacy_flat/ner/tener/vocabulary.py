"""From training texts and pretrained vectors to what a network knows."""

from collections.abc import Sequence

from ...text.units import Units
from ...text.vocabulary import NewTable, TableVocab, Vocabulary
from ...util.simplified import Simplifier
from ...vectors import VectorSource
from .featuriser import SequenceFeaturiser
from .options import SequenceOptions


def build_vocabulary(
    options: SequenceOptions,
    texts: Sequence[Units],
    *,
    char_vectors: VectorSource | None = None,
    bigram_vectors: VectorSource | None = None,
    word_vectors: VectorSource | None = None,
) -> Vocabulary:
    """Build the vocabulary from training texts.

    vectors: of characters and bigrams, or of words.
    """
    none = TableVocab.empty()
    read = [text.visible if options.unit == "char" else text.text for text in texts]
    simplifier = Simplifier.of(read)
    characters = list(map(simplifier, read))
    chars = NewTable.of_characters(characters, char_vectors, options)
    if options.unit == "token":
        strings = (simplifier(word) for text in texts for word in text.strings(0, len(text)))
        words = NewTable.of_words(strings, word_vectors, options)
        featuriser = SequenceFeaturiser(options, chars.vocab, none, words.vocab, simplifier)
        return Vocabulary(featuriser, {"words": words})
    bigrams = NewTable.of_characters(characters, bigram_vectors, options, 2)
    featuriser = SequenceFeaturiser(options, chars.vocab, bigrams.vocab, none, simplifier)
    used = {"chars": options.characters, "bigrams": options.bigrams}
    tables = {"chars": chars, "bigrams": bigrams}
    return Vocabulary(featuriser, {name: tables[name] for name in tables if used[name]})
