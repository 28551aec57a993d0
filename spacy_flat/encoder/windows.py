"""The texts of some Docs as windows of characters, which an encoder reads at once.

Shapes: B windows, C characters with marks, N characters of all texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..text.segments import Segment, split_texts
from ..text.tok2vec import character_of_unit, token_of_unit
from ..text.units import Ints, Unit, Units
from .batch import WindowBatch
from .options import EncoderOptions
from .vocabulary import END, PAD, START, Characters


@dataclass(frozen=True)
class TextsAsWindows:
    """The texts of some Docs in windows.

    rows: [N] of each character, its place among those of all windows, from 1; 0 where it is in
        none, as what lies in a window of white space alone.
    units: [N] the number of each character's unit, from 1; 0 where it is in none, as a single space
        between words.
    lengths: units of each Doc.
    """

    texts: list[str]
    windows: Sequence[Segment]
    rows: Ints
    units: Ints
    lengths: list[int]

    @classmethod
    def of(cls, docs: Sequence[Doc], options: EncoderOptions, unit: Unit) -> "TextsAsWindows":
        characters = [Units.of(doc, "char") for doc in docs]
        windows = sorted(split_texts(characters, options), key=lambda each: each.start - each.end)
        texts = [each.text for each in characters]
        number = token_of_unit if unit == "token" else character_of_unit
        numbers = [number(doc, 1, "char") for doc in docs]
        lengths = [
            len(doc) if unit == "token" else int(np.count_nonzero(each))
            for doc, each in zip(docs, numbers, strict=True)
        ]
        firsts = np.cumsum([0, *lengths])
        units = [
            np.where(each, first + each, 0) for first, each in zip(firsts, numbers, strict=False)
        ]
        together = np.concatenate([*units, np.zeros(0, dtype=np.int64)])
        return cls(texts, windows, _rows(texts, windows), together, lengths)

    def batches(self, characters: Characters, most: int) -> Iterator[WindowBatch]:
        """Windows of like length, the longest first, of at most so many characters."""
        start = 0
        while start < len(self.windows):
            first = self.windows[start]
            n = max(1, most // (first.end - first.start))
            yield self._batch(self.windows[start : start + n], characters)
            start += n

    def _batch(self, windows: Sequence[Segment], characters: Characters) -> WindowBatch:
        longest = windows[0].end - windows[0].start + 2
        keys = np.full((len(windows), longest), characters.mark(PAD), dtype=np.int64)
        keys[:, 0] = characters.mark(START)
        for row, window in enumerate(windows):
            text = self.texts[window.text][window.start : window.end]
            keys[row, 1 : len(text) + 1] = characters.keys(text)
            keys[row, len(text) + 1] = characters.mark(END)
        lengths = np.array([window.end - window.start + 2 for window in windows])
        return WindowBatch(keys, np.arange(longest) < lengths[:, None])


def _rows(texts: Sequence[str], windows: Sequence[Segment]) -> Ints:
    """[N] as in `TextsAsWindows`. Where two windows share characters, each has the half that is
    farther from its end."""
    firsts = np.cumsum([0, *map(len, texts)])
    rows = np.zeros(int(firsts[-1]), dtype=np.int64)
    places = np.cumsum([1, *(window.end - window.start for window in windows)])
    reached = dict.fromkeys(range(len(texts)), 0)  # up to where windows of a text have come
    order = sorted(range(len(windows)), key=lambda n: (windows[n].text, windows[n].start))
    for number in order:
        window = windows[number]
        start = (window.start + max(window.start, reached[window.text])) // 2
        offset = int(firsts[window.text])
        rows[offset + start : offset + window.end] = np.arange(
            places[number] + start - window.start,
            places[number] + window.end - window.start,
        )
        reached[window.text] = window.end
    return rows
