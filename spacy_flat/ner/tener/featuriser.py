"""Texts → padded numbers: characters with their bigrams, or words with their spelling and case.

Shapes: B segments, C units, W distinct words, S characters of a word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...text.featuriser import IndexedFeaturiser, SegmentFeaturiser
from ...text.hashing import hash_bigrams, hash_characters, hash_words
from ...text.padding import group_by_cost, padding, take
from ...text.segments import Segment
from ...text.units import Unit, Units
from ...text.vocabulary import TableVocab
from ...util.arrays import Ints
from ...util.simplified import Simplifier
from .batch import CharBatch, WordBatch
from .options import SequenceOptions

LONGEST_SPELLING = 40  # characters of a word to read; for most URLs only the beginning

LOWER, TITLE, UPPER, MIXED, NUMBER, OTHER = range(1, 7)


@dataclass(frozen=True)
class SequenceFeaturiser(IndexedFeaturiser, SegmentFeaturiser):
    """Turns texts into batches.

    chars: of the text, or of the spellings of words.
    """

    options: SequenceOptions
    chars: TableVocab
    bigrams: TableVocab
    words: TableVocab
    simplifier: Simplifier = field(default_factory=Simplifier)

    @classmethod
    def empty(cls, options: SequenceOptions) -> "SequenceFeaturiser":
        none = TableVocab.empty()
        return cls(options, none, none, none)

    @property
    def unit(self) -> Unit:
        return self.options.unit

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the network, apart from its tables."""
        return {"n_spelling": len(self.chars) if self.unit == "token" else 0}

    def batches(
        self, texts: Sequence[Units], segments: Sequence[Segment], is_train: bool = False
    ) -> Iterator[CharBatch | WordBatch]:
        if not segments:
            return
        flat = (_FlatCharacters if self.unit == "char" else _FlatWords)(self, texts, segments)
        order = np.argsort(flat.n_units, kind="stable")
        nothing = np.zeros_like(flat.n_units)
        for rows in group_by_cost(order, flat.n_units, nothing, self.options.batch_size):
            yield flat.pad(rows, tuple(segments[row] for row in rows))


class _FlatCharacters:
    """The characters of all segments one after the other, before padding."""

    def __init__(
        self, featuriser: SequenceFeaturiser, texts: Sequence[Units], segments: Sequence[Segment]
    ) -> None:
        pieces = [texts[segment.text].text[segment.start : segment.end] for segment in segments]
        self.n_units = np.array([len(piece) for piece in pieces], dtype=np.int64)
        self.starts = np.cumsum(self.n_units) - self.n_units
        text = featuriser.simplifier("".join(pieces))
        codes = hash_characters(text, featuriser.options.normalise_numbers)
        self.chars = featuriser.chars.look_up(codes)
        last = self.starts + self.n_units - 1
        self.bigrams = featuriser.bigrams.look_up(hash_bigrams(codes, last))

    def pad(self, rows: Ints, segments: tuple[Segment, ...]) -> CharBatch:
        places, present = padding(self.n_units[rows], self.starts[rows])
        return CharBatch(
            segments=segments,
            n_units=self.n_units[rows],
            present=present,
            chars=take(self.chars, places, present),
            bigrams=take(self.bigrams, places, present),
        )


class _FlatWords:
    """The words of all segments one after the other, before padding; each distinct word is looked
    up once."""

    def __init__(
        self, featuriser: SequenceFeaturiser, texts: Sequence[Units], segments: Sequence[Segment]
    ) -> None:
        numbers: dict[str, int] = {}
        self.numbers = np.array(
            [
                numbers.setdefault(word, len(numbers))
                for segment in segments
                for word in texts[segment.text].strings(segment.start, segment.end)
            ],
            dtype=np.int64,
        )
        self.n_units = np.array([part.end - part.start for part in segments], dtype=np.int64)
        self.starts = np.cumsum(self.n_units) - self.n_units
        words = list(map(featuriser.simplifier, numbers))
        self.words = featuriser.words.look_up(hash_words(words, featuriser.options))
        self.cases = np.array([case_of(word) for word in words], dtype=np.int64)
        spellings = [word[:LONGEST_SPELLING] for word in words]
        codes = hash_characters("".join(spellings), featuriser.options.normalise_numbers)
        self.chars = featuriser.chars.look_up(codes)
        self.n_spelled = np.array([len(spelling) for spelling in spellings], dtype=np.int64)
        self.char_starts = np.cumsum(self.n_spelled) - self.n_spelled

    def pad(self, rows: Ints, segments: tuple[Segment, ...]) -> WordBatch:
        places, present = padding(self.n_units[rows], self.starts[rows])
        numbers = take(self.numbers, places, present)
        distinct, within = np.unique(numbers, return_inverse=True)
        order = np.argsort(self.n_spelled[distinct], kind="stable")
        distinct = distinct[order]
        n_spelled = self.n_spelled[distinct]
        char_places, spelled = padding(n_spelled, self.char_starts[distinct])
        return WordBatch(
            segments=segments,
            n_units=self.n_units[rows],
            present=present,
            words=np.where(present, self.words[numbers], 0),
            cases=np.where(present, self.cases[numbers], 0),
            numbers=np.argsort(order)[within].reshape(numbers.shape),
            spellings=take(self.chars, char_places, spelled),
            n_spelled=n_spelled,
        )


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
