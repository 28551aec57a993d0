"""Texts as ids and back.

On both sides, id 0 stands for unknown characters of the source, followed by the marks of start and
end, the placeholders of names, and the characters or pieces.

Shapes: L ids of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import srsly

from ..text.featuriser import TextFeaturiser
from ..text.scripts import HAN, Simplifier
from ..text.vocabulary import TableVocab, count_characters, hash_characters, pack, unpack
from ..util.arrays import Ints
from .batch import END, NAMES, START, UNKNOWN
from .options import TranslationOptions

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Brackets and quotation marks are read as others if they are unknown.
READ_AS = str.maketrans("【】〔〕［］〈〉『』「」‘’{}｛｝～", "（）（）（）（）“”“”“”（）（）—")


# A side of a pair: texts, and the numbers of placeholders between them
Stretches = list[str | int]


@dataclass(frozen=True)
class TranslationFeaturiser(TextFeaturiser):
    """Turns both sides of pairs into ids, and ids into translations.

    source: the known characters of sources.
    target: byte pair encoding (Sennrich et al., 2016) of UTF-8, as JSON of `tokenizers`.
    chinese: the Chinese characters of the training translations, the only ones written.
    """

    options: TranslationOptions
    source: TableVocab = field(default_factory=TableVocab.empty)
    simplifier: Simplifier = field(default_factory=Simplifier)
    target: str = ""
    chinese: str = ""

    @classmethod
    def build(
        cls, options: TranslationOptions, sources: Sequence[str], targets: Sequence[str]
    ) -> TranslationFeaturiser:
        simplifier = Simplifier.of(sources)
        counts = count_characters(list(map(simplifier, sources)))
        known = [code for code, times in counts.items() if times >= options.min_freq]
        codes = np.array(sorted(known), dtype=np.uint64)
        chinese = sorted({each for text in targets for each in "".join(HAN.findall(text))})
        return cls(
            options,
            TableVocab.build(codes, codes[:0]),
            simplifier,
            learn_pieces(targets, options.target_pieces).to_str(),
            "".join(chinese),
        )

    @cached_property
    def tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        return Tokenizer.from_str(self.target)

    @property
    def first(self) -> int:
        """The id before that of the first character or piece."""
        return NAMES + self.options.placeholders - 1

    @property
    def sizes(self) -> dict[str, Any]:
        first = self.first + 1
        n_pieces = self.tokenizer.get_vocab_size()
        return {"source": first + len(self.source), "target": first + n_pieces}

    def source_ids(self, stretches: Stretches) -> Ints:
        """[L] the ids of a source, with its end mark."""

        def characters(text: str) -> Ints:
            ids = self._characters(text)
            return np.where(ids == 0, UNKNOWN, ids + self.first)

        return np.concatenate([*_ids(stretches, characters), [END]])

    def target_ids(self, stretches: Stretches) -> Ints:
        """[L] the ids of a target between its marks."""

        def pieces(text: str) -> Ints:
            return np.array(self.tokenizer.encode(text).ids, dtype=np.int64) + 1 + self.first

        return np.concatenate([[START], *_ids(stretches, pieces), [END]])

    def unknown(self, text: str) -> list[int]:
        """The places of unknown characters of a source, except white space."""
        places = np.flatnonzero(self._characters(text) == 0).tolist()
        return [place for place in places if not text[place].isspace()]

    def stretches(self, ids: Sequence[int]) -> Stretches:
        """The stretches of a target, without its marks."""
        found: Stretches = []
        for is_piece, group in groupby(ids, lambda each: each > self.first):
            if is_piece:
                text = self.tokenizer.decode([each - self.first - 1 for each in group])
                text = text.replace("\ufffd", "")  # bytes that aren't UTF-8
                found.append("".join(c for c in text if c in self.chinese or not HAN.match(c)))
            else:
                found += [each - NAMES for each in group if each >= NAMES]
        return found

    def to_bytes(self) -> bytes:
        data: dict[str, Any] = {
            "options": self.options.fixed(),
            "characters": pack({"index": self.source}, self.options),
            "simplified": self.simplifier.pairs,
            "target": self.target,
            "chinese": self.chinese,
        }
        return bytes(srsly.msgpack_dumps(data))

    def from_bytes(self, data: bytes) -> TranslationFeaturiser:
        saved = srsly.msgpack_loads(data)
        self.options.check_fixed(saved["options"])
        return TranslationFeaturiser(
            self.options,
            unpack(saved["characters"], self.options)["index"],
            Simplifier(saved.get("simplified", "")),
            saved["target"],
            saved.get("chinese", ""),
        )

    def _characters(self, text: str) -> Ints:
        """[L] from 1, 0 for unknown ones."""
        ids = self._look_up(text)
        return ids if ids.all() else np.where(ids == 0, self._look_up(text.translate(READ_AS)), ids)

    def _look_up(self, text: str) -> Ints:
        codes = hash_characters(self.simplifier(text), normalise_numbers=False)
        return self.source.look_up(codes)


def learn_pieces(texts: Sequence[str], size: int) -> Tokenizer:
    """Learn at most `size` pieces."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def between(
    text: str, slots: Iterable[tuple[int, int, int]], start: int = 0, end: int | None = None
) -> Stretches:
    """The stretches of characters [start, end) of a text.

    slots: characters [start, end) and the number of each placeholder, in order.
    """
    found: Stretches = []
    for first, last, number in slots:
        found += [text[start:first], number]
        start = last
    return [*found, text[start:end]]


def _ids(stretches: Stretches, ids: Callable[[str], Ints]) -> list[Ints]:
    return [np.array([NAMES + each]) if isinstance(each, int) else ids(each) for each in stretches]
