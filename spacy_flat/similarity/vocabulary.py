"""The vocabularies of training pairs."""

from collections.abc import Sequence

from ..text.vocabulary import Column, Vocabulary
from ..util.simplified import Simplifier
from ..vectors import VectorSource
from .featuriser import PairFeaturiser, trimmed
from .pairs import Pair


def build_vocabulary(
    featuriser: PairFeaturiser,
    pairs: Sequence[Pair],
    *,
    char_vectors: VectorSource | None = None,
    bigram_vectors: VectorSource | None = None,
    word_vectors: VectorSource | None = None,
) -> Vocabulary:
    """Build the featuriser and the tables of its network from training pairs."""
    options = featuriser.options
    spans = [trimmed(span) for pair in pairs for span in pair]
    simplifier = Simplifier.of([span.text for span in spans])
    texts = [simplifier(span.text) for span in spans]
    columns: dict[str, Column] = {}
    if options.inputs != "tokens":
        columns["chars"] = Column.of_characters(texts, char_vectors, options)
        if options.bigrams:
            columns["bigrams"] = Column.of_characters(texts, bigram_vectors, options, 2)
    if options.inputs != "chars":
        words = (simplifier(token.text) for span in spans for token in span)
        columns["words"] = Column.of_words(words, word_vectors, options)
    if options.hash_unknowns and not options.fine_tune:
        columns = {name: column.fixed for name, column in columns.items()}
    indexes = {name: column.index for name, column in columns.items()}
    read = PairFeaturiser(options, featuriser.reach, **indexes, simplifier=simplifier)
    return Vocabulary(read, columns)
