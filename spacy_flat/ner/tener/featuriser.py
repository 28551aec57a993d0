"""Texts → padded numbers: characters with their bigrams, or words with their spelling and case.

Shapes: B segments, C units, W distinct words, S characters of a word.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...text.batches import Ragged, batch_by_cost
from ...text.featuriser import SegmentFeaturiser
from ...text.scripts import Simplifier
from ...text.segments import Segment
from ...text.spans import Unit, Units
from ...text.vocabulary import NewTable, TableVocab, Vocabulary, hash_words
from ...util.arrays import Ints
from ...vectors import VectorSource
from ..batch import CharBatch, WordBatch
from .options import SequenceOptions

LONGEST_SPELLING = 40  # characters of a word to read; for most URLs only the beginning

LOWER, TITLE, UPPER, MIXED, NUMBER, OTHER = range(1, 7)


@dataclass(frozen=True)
class SequenceFeaturiser(SegmentFeaturiser):
    """Turns texts into batches.

    chars: of the text, or of the spellings of words.
    """

    options: SequenceOptions
    chars: TableVocab = field(default_factory=TableVocab.empty)
    bigrams: TableVocab = field(default_factory=TableVocab.empty)
    words: TableVocab = field(default_factory=TableVocab.empty)
    simplifier: Simplifier = field(default_factory=Simplifier)

    @property
    def unit(self) -> Unit:
        return self.options.unit

    @property
    def sizes(self) -> dict[str, int]:
        return {"n_spelling": len(self.chars) if self.unit == "token" else 0}

    def batches(
        self, texts: Sequence[Units], segments: Sequence[Segment], is_train: bool = False
    ) -> Iterator[CharBatch | WordBatch]:
        if self.unit == "char":
            parts = [
                texts[segment.text].visible[segment.start : segment.end] for segment in segments
            ]
            units = self.characters(parts, self.simplifier)
            make: Callable[..., CharBatch | WordBatch] = CharBatch
        else:
            units, spelled = self._words(texts, segments)
            make = partial(_word_batch, spelled)
        for rows in batch_by_cost(units.counts, self.options.batch_size):
            columns, present = units.pad(rows)
            of_rows = tuple(segments[row] for row in rows)
            yield make(segments=of_rows, n_units=units.counts[rows], present=present, **columns)

    def _words(self, texts: Sequence[Units], segments: Sequence[Segment]) -> tuple[Ragged, Ragged]:
        """The words, and the spellings of the distinct ones."""
        numbers: dict[str, int] = {}
        own = [
            numbers.setdefault(word, len(numbers))
            for part in segments
            for word in texts[part.text].strings(part.start, part.end)
        ]
        words = list(map(self.simplifier, numbers))
        flat = np.array(own, dtype=np.int64)
        columns = {
            "numbers": flat,
            "words": self.words.look_up(hash_words(words, self.options))[flat],
            "cases": np.array([case_of(word) for word in words], dtype=np.int64)[flat],
        }
        counts = np.array([part.end - part.start for part in segments], dtype=np.int64)
        spelled = self.characters([word[:LONGEST_SPELLING] for word in words], Simplifier())
        return Ragged(counts, columns), spelled


def _word_batch(spelled: Ragged, numbers: Ints, **columns: Any) -> WordBatch:
    """With the spellings [W, S] of the words of a batch alone, the shortest first."""
    distinct, within = np.unique(numbers, return_inverse=True)
    order = np.argsort(spelled.counts[distinct], kind="stable")
    spellings, _ = spelled.pad(distinct[order])
    return WordBatch(
        **columns,
        numbers=np.argsort(order)[within].reshape(numbers.shape),
        spellings=spellings["chars"],
        n_spelled=spelled.counts[distinct[order]],
    )


def build_vocabulary(
    options: SequenceOptions, texts: Sequence[Units], **vectors: VectorSource | None
) -> Vocabulary:
    """Build the vocabulary from training texts.

    vectors: char_vectors and bigram_vectors, or word_vectors.
    """
    read = [text.visible if options.unit == "char" else text.text for text in texts]
    simplifier = Simplifier.of(read)
    characters = list(map(simplifier, read))
    chars = NewTable.of_characters(characters, vectors.get("char_vectors"), options)
    if options.unit == "token":
        strings = (simplifier(word) for text in texts for word in text.strings(0, len(text)))
        words = NewTable.of_words(strings, vectors.get("word_vectors"), options)
        featuriser = SequenceFeaturiser(
            options, chars.vocab, words=words.vocab, simplifier=simplifier
        )
        return Vocabulary(featuriser, {"words": words})
    bigrams = NewTable.of_characters(characters, vectors.get("bigram_vectors"), options, 2)
    featuriser = SequenceFeaturiser(options, chars.vocab, bigrams.vocab, simplifier=simplifier)
    used = {"chars": options.characters, "bigrams": options.bigrams}
    tables = {"chars": chars, "bigrams": bigrams}
    return Vocabulary(featuriser, {name: tables[name] for name in tables if used[name]})


def case_of(word: str) -> int:
    """The case of a word: "3.14" is a number, "iPhone" and "3D" are mixed, "中国" is other."""
    letters = "".join(filter(str.isalpha, word))
    has_digit = any(map(str.isdigit, word))
    if not letters and has_digit:
        return NUMBER
    if letters.lower() == letters.upper():
        return OTHER
    if has_digit:
        return MIXED
    if letters.islower():
        return LOWER
    if letters[0].isupper() and (len(letters) == 1 or letters[1:].islower()):
        return TITLE
    return UPPER if letters.isupper() else MIXED
