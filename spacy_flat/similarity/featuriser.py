"""Pairs of texts → padded batches of numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from spacy.tokens import Doc, Span

from ..text.featuriser import TextFeaturiser
from ..text.padding import group_by_cost, padding
from ..text.segments import Segment
from ..text.tok2vec import Tok2VecFeatures
from ..text.units import Unit, Units
from ..text.vocabulary import TableVocab, hash_bigrams, hash_characters, hash_words
from ..util.arrays import Ints
from ..util.simplified import Simplifier
from .batch import PairBatch, TextBatch
from .options import PairTextOptions
from .pairs import Pair


@dataclass(frozen=True)
class PairTexts:
    """Pairs as numbers of distinct texts."""

    docs: list[Doc]
    units: list[Units]  # of each Doc
    texts: list[Segment]  # N distinct texts
    left: Ints  # [B] numbers of texts
    right: Ints  # [B]
    upstream: Tok2VecFeatures  # of the Docs

    @property
    def n_units(self) -> Ints:
        """[N] units of each text; 1 for a text without any."""
        return np.array([max(1, text.end - text.start) for text in self.texts], dtype=np.int64)

    def strings(self, number: int) -> list[str]:
        """The units of a text; [""] for a text without any."""
        text = self.texts[number]
        return self.units[text.text].strings(text.start, text.end) or [""]


def number_texts(
    pairs: Sequence[Pair], docs: Sequence[Doc], unit: Unit
) -> tuple[list[Segment], Ints, Ints]:
    """The distinct texts of pairs, and the numbers of the left and right ones."""
    places = {id(doc): number for number, doc in enumerate(docs)}
    texts: dict[Segment, int] = {}
    numbers = [
        texts.setdefault(_segment(trimmed(span), places[id(span.doc)], unit), len(texts))
        for pair in pairs
        for span in pair
    ]
    left, right = np.array(numbers, dtype=np.int64).reshape(-1, 2).T
    return list(texts), left, right


def _segment(span: Span, doc: int, unit: Unit) -> Segment:
    if unit == "token":
        return Segment(doc, span.start, span.end)
    # An empty span's end_char may lie before its start_char.
    return Segment(doc, span.start_char, span.start_char + len(span.text))


def trimmed(span: Span) -> Span:
    """A span without white space at its ends."""
    doc, start, end = span.doc, span.start, span.end
    while start < end and doc[start].is_space:
        start += 1
    while start < end and doc[end - 1].is_space:
        end -= 1
    return doc[start:end] if end - start < len(span) else span


@dataclass(frozen=True)
class PairFeaturiser(TextFeaturiser):
    """Turns pairs of texts into batches."""

    options: PairTextOptions
    chars: TableVocab = field(default_factory=TableVocab.empty)
    bigrams: TableVocab = field(default_factory=TableVocab.empty)
    words: TableVocab = field(default_factory=TableVocab.empty)
    simplifier: Simplifier = field(default_factory=Simplifier)

    @property
    def unit(self) -> Unit:
        return self.options.unit

    def pair_batches(self, texts: PairTexts) -> Iterator[PairBatch]:
        """Batches of pairs of similar length, of at most `batch_size` units with padding, or of
        one pair."""
        n_units = texts.n_units
        longest = np.maximum(n_units[texts.left], n_units[texts.right])
        order = np.argsort(longest, kind="stable")
        for pairs in group_by_cost(order, longest, longest, self.options.batch_size):
            sides = np.concatenate([texts.left[pairs], texts.right[pairs]])
            distinct, numbers = np.unique(sides, return_inverse=True)
            left, right = np.split(numbers, 2)
            yield PairBatch(pairs, self.text_batch(texts, distinct), left, right)

    def text_batches(self, texts: PairTexts) -> Iterator[tuple[Ints, TextBatch]]:
        """Batches of distinct texts of similar length, with their numbers."""
        n_units = texts.n_units
        order = np.argsort(n_units, kind="stable")
        none = np.zeros_like(n_units)
        for numbers in group_by_cost(order, n_units, none, self.options.batch_size):
            yield numbers, self.text_batch(texts, numbers)

    def text_batch(self, texts: PairTexts, numbers: Ints) -> TextBatch:
        """Some of the texts."""
        segments = tuple(texts.texts[number] for number in numbers.tolist())
        lengths = np.array([part.end - part.start for part in segments], dtype=np.int64)
        n_units = np.maximum(lengths, 1)
        _, present = padding(lengths, lengths)
        keys = np.zeros((3, len(segments), n_units.max()), dtype=np.int64)
        keys[:, :, : present.shape[1]][:, present] = self._keys(texts, segments, lengths)
        return TextBatch(segments, n_units, keys)

    def _keys(self, texts: PairTexts, segments: Sequence[Segment], lengths: Ints) -> Ints:
        """[3, units] keys of characters, bigrams and words; 0 for those not read."""
        own = self.options.hash_unknowns
        keys = np.zeros((3, int(lengths.sum())), dtype=np.int64)
        units = [texts.units[part.text] for part in segments]
        if self.unit == "token":
            strings = (
                string
                for part, own_units in zip(segments, units, strict=True)
                for string in own_units.strings(part.start, part.end)
            )
            words = map(self.simplifier, strings)
            keys[2] = self.words.look_up(hash_words(words, self.options), own)
            return keys
        pieces = [u.text[part.start : part.end] for u, part in zip(units, segments, strict=True)]
        text = self.simplifier("".join(pieces))
        codes = hash_characters(text, self.options.normalise_numbers)
        keys[0] = self.chars.look_up(codes, own)
        pairs = hash_bigrams(codes, np.cumsum(lengths)[lengths > 0] - 1)
        keys[1] = self.bigrams.look_up(pairs, own)
        return keys
