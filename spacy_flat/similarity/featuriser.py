"""Pairs of texts → batches of rows of numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from spacy.tokens import Doc, Span
from thinc.types import Floats2d

from ..text.featuriser import TextFeaturiser
from ..text.hashing import hash_bigrams, hash_characters, hash_words
from ..text.padding import group_by_cost
from ..text.segments import Segment
from ..text.tok2vec import token_of_unit
from ..text.units import Unit, Units
from ..text.vocabulary import TableVocab
from ..util.arrays import Ints
from ..util.simplified import Simplifier
from .batch import PairBatch, TextRows, compare, count_rows, windows
from .options import PairTextOptions
from .pairs import Pair


@dataclass(frozen=True)
class SpanPairs:
    """Pairs of spans of any Docs.

    docs: their Docs, and possibly others.
    token_vectors: of a tok2vec for the tokens of each Doc, if it has read them before.
    """

    docs: list[Doc]
    pairs: Sequence[Pair]
    token_vectors: list[Floats2d] | None = None


@dataclass(frozen=True)
class PairTexts:
    """Pairs as numbers of distinct texts."""

    docs: list[Doc]
    units: list[Units]  # of each Doc
    texts: list[Segment]  # N distinct texts
    left: Ints  # [B] numbers of texts
    right: Ints  # [B]

    @classmethod
    def of(cls, pairs: SpanPairs, unit: Unit) -> "PairTexts":
        docs = {id(doc): number for number, doc in enumerate(pairs.docs)}
        texts: dict[Segment, int] = {}
        numbers = [
            texts.setdefault(_segment(trimmed(span), docs[id(span.doc)], unit), len(texts))
            for pair in pairs.pairs
            for span in pair
        ]
        left, right = np.array(numbers, dtype=np.int64).reshape(-1, 2).T
        return cls(
            pairs.docs, [Units.of(doc, unit) for doc in pairs.docs], list(texts), left, right
        )

    def strings(self, number: int) -> list[str]:
        """The units of a text; [""] if it has none, as the network sees it."""
        text = self.texts[number]
        return self.units[text.text].strings(text.start, text.end) or [""]


def trimmed(span: Span) -> Span:
    """A span without white space at its ends."""
    doc, start, end = span.doc, span.start, span.end
    while start < end and doc[start].is_space:
        start += 1
    while start < end and doc[end - 1].is_space:
        end -= 1
    return doc[start:end] if end - start < len(span) else span


def _segment(span: Span, doc: int, unit: Unit) -> Segment:
    if unit == "token":
        return Segment(doc, span.start, span.end)
    # An empty span's end_char may lie before its start_char.
    return Segment(doc, span.start_char, span.start_char + len(span.text))


def docs_of(pairs: Sequence[Pair]) -> list[Doc]:
    """The Docs of the spans, each once."""
    return list({id(span.doc): span.doc for pair in pairs for span in pair}.values())


@dataclass(frozen=True)
class PairFeaturiser(TextFeaturiser):
    """Turns pairs of texts into batches.

    reach: units that a convolution sees on either side.
    """

    options: PairTextOptions
    reach: int
    chars: TableVocab = field(default_factory=TableVocab.empty)
    bigrams: TableVocab = field(default_factory=TableVocab.empty)
    words: TableVocab = field(default_factory=TableVocab.empty)
    simplifier: Simplifier = field(default_factory=Simplifier)

    @property
    def unit(self) -> Unit:
        return self.options.unit

    def batches(self, texts: PairTexts) -> Iterator[PairBatch]:
        """Batches of pairs of similar length, of at most `batch_size` units with padding, or of
        one pair."""
        lengths = rows_of(texts.texts)
        n_left, n_right = lengths[texts.left], lengths[texts.right]
        order = np.argsort(n_left + n_right, kind="stable")
        for pairs in group_by_cost(order, n_left, n_right, self.options.batch_size):
            left, right = texts.left[pairs], texts.right[pairs]
            distinct, numbers = np.unique(np.concatenate([left, right]), return_inverse=True)
            sides = numbers[: len(pairs)], numbers[len(pairs) :]
            comparison = compare(lengths[distinct], *sides, self.reach)
            yield PairBatch(pairs, self.rows(texts, distinct), comparison)

    def rows(self, texts: PairTexts, numbers: Ints) -> TextRows:
        """Some of the texts as rows."""
        segments = tuple(texts.texts[number] for number in numbers.tolist())
        lengths = np.array([part.end - part.start for part in segments], dtype=np.int64)
        n_units = rows_of(segments)
        n_rows = count_rows(n_units)
        columns = np.zeros((3, n_rows), dtype=np.int64)
        is_unit = np.repeat(lengths > 0, n_units)
        columns[:, : len(is_unit)][:, is_unit] = self._keys(texts, segments, lengths)
        return TextRows(segments, windows(n_units, n_rows, self.reach), *columns)

    def _keys(self, texts: PairTexts, segments: Sequence[Segment], lengths: Ints) -> Ints:
        """[3, units] keys of characters, bigrams and words; 0 for those not read."""
        own = self.options.hash_unknowns
        keys = np.zeros((3, int(lengths.sum())), dtype=np.int64)
        if self.unit == "char":
            pieces = (texts.units[part.text].text[part.start : part.end] for part in segments)
            text = self.simplifier("".join(pieces))
            codes = hash_characters(text, self.options.normalise_numbers)
            keys[0] = self.chars.look_up(codes, own)
            pairs = hash_bigrams(codes, np.cumsum(lengths)[lengths > 0] - 1)
            keys[1] = self.bigrams.look_up(pairs, own)
        if self.options.inputs != "chars":
            words = map(self.simplifier, self._words(texts, segments))
            keys[2] = self.words.look_up(hash_words(words, self.options), own)
        return keys

    def _words(self, texts: PairTexts, segments: Sequence[Segment]) -> list[str]:
        """The word of each unit; "" for a character in none."""
        if self.unit == "token":
            return [
                word
                for part in segments
                for word in texts.units[part.text].strings(part.start, part.end)
            ]
        of_characters: dict[int, list[str]] = {}
        words: list[str] = []
        for part in segments:
            if part.text not in of_characters:
                of_characters[part.text] = words_of_characters(texts.docs[part.text])
            words += of_characters[part.text][part.start : part.end]
        return words


def rows_of(texts: Sequence[Segment]) -> Ints:
    """[N] rows of texts: one for each unit, and one of a text without units."""
    return np.array([max(1, text.end - text.start) for text in texts], dtype=np.int64)


def words_of_characters(doc: Doc) -> list[str]:
    """The token of each character of a text; "" for spaces between tokens."""
    words = ["", *(token.text for token in doc)]
    return [words[number] for number in token_of_unit(doc, 1, "char").tolist()]
