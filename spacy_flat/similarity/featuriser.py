"""Pairs of texts → padded batches of numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from spacy.tokens import Span

from ..text.batches import Ragged
from ..text.featuriser import TextFeaturiser
from ..text.scripts import ZERO_WIDTH, Simplifier
from ..text.spans import Unit
from ..text.vocabulary import (
    NewTable,
    TableVocab,
    Vocabulary,
    hash_bigrams,
    hash_characters,
    hash_words,
)
from ..util.arrays import Ints
from ..vectors import VectorSource
from .options import PairTextOptions
from .pairs import Pair


def nothing() -> None:
    """The backprop of texts without a tok2vec."""


@dataclass(frozen=True)
class PairTexts:
    """B pairs of N distinct texts; a text without units has an unknown one.

    ids: of characters and bigrams, or of words; "upstream" are rows of `vectors`.
    vectors: [rows, W] of a tok2vec, a tensor; the first is 0.
    backprop: passes the gradient of the vectors to the tok2vec.
    """

    ids: Ragged  # [N]
    left: Ints  # [B] numbers of texts
    right: Ints  # [B]
    strings: Sequence[list[str]] = ()  # [N] the units of each text
    vectors: Any = None
    backprop: Callable[[], None] = nothing


@dataclass(frozen=True)
class PairFeaturiser(TextFeaturiser):
    """Turns texts into ids: unknown units have their own, from -1 down."""

    hashes_unknowns: ClassVar[bool] = True
    options: PairTextOptions
    chars: TableVocab = field(default_factory=TableVocab.empty)
    bigrams: TableVocab = field(default_factory=TableVocab.empty)
    words: TableVocab = field(default_factory=TableVocab.empty)
    simplifier: Simplifier = field(default_factory=Simplifier)

    @property
    def unit(self) -> Unit:
        return self.options.unit

    def strings(self, span: Span) -> list[str]:
        """The units of a text; [""] for one without any."""
        if self.unit == "char":
            return list(span.text) or [""]
        return [ZERO_WIDTH.sub("", token.text) or token.text for token in span] or [""]

    def ids(self, texts: Sequence[list[str]]) -> Ragged:
        """The ids of texts, given as `strings` does."""
        counts = np.array([len(units) for units in texts], dtype=np.int64)
        units = [unit for own in texts for unit in own]
        if self.unit == "token":
            hashes = hash_words(map(self.simplifier, units), self.options)
            columns = {"words": self.words.look_up(hashes, True)}
        else:
            text = self.simplifier("".join(unit or "\0" for unit in units))
            codes = hash_characters(text, self.options.normalise_numbers)
            bigrams = hash_bigrams(codes, np.cumsum(counts) - 1)
            columns = {
                "chars": self.chars.look_up(codes, True),
                "bigrams": self.bigrams.look_up(bigrams, True),
            }
        empty = [place for place, unit in enumerate(units) if not unit]
        for ids in columns.values():
            ids[empty] = 0
        return Ragged(counts, columns)


def bounds(span: Span, unit: Unit) -> tuple[int, int]:
    """The units of its Doc that a span has."""
    if unit == "token":
        return span.start, span.end
    # An empty span's end_char may lie before its start_char.
    return span.start_char, span.start_char + len(span.text)


def trimmed(span: Span) -> Span:
    """A span without white space at its ends."""
    doc, start, end = span.doc, span.start, span.end
    while start < end and doc[start].is_space:
        start += 1
    while start < end and doc[end - 1].is_space:
        end -= 1
    return doc[start:end] if end - start < len(span) else span


def build_vocabulary(
    featuriser: PairFeaturiser, pairs: Sequence[Pair], **vectors: VectorSource | None
) -> Vocabulary:
    """Build the featuriser and the tables of its network from training pairs.

    vectors: char_vectors and bigram_vectors, or word_vectors.
    """
    options = featuriser.options
    spans = [trimmed(span) for pair in pairs for span in pair]
    simplifier = Simplifier.of([span.text for span in spans])
    texts = [simplifier(span.text) for span in spans]
    tables: dict[str, NewTable] = {}
    if options.inputs == "chars":
        if options.embed_width or vectors.get("char_vectors") is not None:
            tables["chars"] = NewTable.of_characters(texts, vectors.get("char_vectors"), options)
        if options.bigrams and (options.embed_width or vectors.get("bigram_vectors") is not None):
            tables["bigrams"] = NewTable.of_characters(
                texts, vectors.get("bigram_vectors"), options, 2
            )
    elif options.embed_width or vectors.get("word_vectors") is not None:
        words = (simplifier(token.text) for span in spans for token in span)
        tables["words"] = NewTable.of_words(words, vectors.get("word_vectors"), options)
    if not options.fine_tune:
        tables = {name: table.fixed for name, table in tables.items()}
    vocabs = {name: table.vocab for name, table in tables.items()}
    read = PairFeaturiser(options, **vocabs, simplifier=simplifier)
    return Vocabulary(read, tables)
