"""The vocabularies of training pairs."""

from collections.abc import Sequence

from ..text.units import Simplifier
from ..text.vocabulary import NewTable, Vocabulary
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
    tables: dict[str, NewTable] = {}
    if options.inputs == "chars":
        tables["chars"] = NewTable.of_characters(texts, char_vectors, options)
        if options.bigrams:
            tables["bigrams"] = NewTable.of_characters(texts, bigram_vectors, options, 2)
    else:
        words = (simplifier(token.text) for span in spans for token in span)
        tables["words"] = NewTable.of_words(words, word_vectors, options)
    if options.hash_unknowns and not options.fine_tune:
        tables = {name: table.fixed for name, table in tables.items()}
    vocabs = {name: table.vocab for name, table in tables.items()}
    read = PairFeaturiser(options, **vocabs, simplifier=simplifier)
    return Vocabulary(read, tables)
