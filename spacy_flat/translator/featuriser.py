"""Texts as ids and back.

On both sides, id 0 stands for unknown characters of the source, followed by the marks of start and
end, the placeholders of names, and the characters or pieces.

Shapes: L ids of a text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import srsly

from ..text.featuriser import TextFeaturiser
from ..text.hashing import hash_characters
from ..text.vocabulary import TableVocab, count_characters, pack, unpack
from ..util.arrays import Ints
from ..util.characters import HAN
from ..util.simplified import Simplifier
from .ids import END, NAMES, START, UNKNOWN
from .names import Protected, with_names
from .options import TranslationOptions

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Slot(NamedTuple):
    """Characters [start, end) of a text, replaced by placeholder `number`."""

    start: int
    end: int
    number: int


@dataclass(frozen=True)
class CharacterSide:
    """A side of characters."""

    index: TableVocab
    simplifier: Simplifier = field(default_factory=Simplifier)

    @classmethod
    def build(cls, texts: Sequence[str], min_freq: int) -> CharacterSide:
        simplifier = Simplifier.of(texts)
        counts = count_characters(list(map(simplifier, texts)))
        known = [code for code, times in counts.items() if times >= min_freq]
        codes = np.array(sorted(known), dtype=np.uint64)
        return cls(TableVocab.build(codes, codes[:0]), simplifier)

    def __len__(self) -> int:
        return len(self.index)

    def ids(self, text: str) -> Ints:
        """[L] ids from 1, 0 for unknown characters."""
        codes = hash_characters(self.simplifier(text), normalise_numbers=False)
        return self.index.look_up(codes)


@dataclass(frozen=True)
class PieceSide:
    """A side of pieces of words: byte pair encoding (Sennrich et al., 2016) of UTF-8, without
    unknown characters.

    data: of the `tokenizers` library, as JSON.
    """

    data: str

    @classmethod
    def build(cls, texts: Sequence[str], size: int) -> PieceSide:
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
        tokenizer.train_from_iterator(map(_encodable, texts), trainer)
        return cls(tokenizer.to_str())

    def __len__(self) -> int:
        return len(json.loads(self.data)["model"]["vocab"])

    @cached_property
    def tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        return Tokenizer.from_str(self.data)

    def ids(self, text: str) -> Ints:
        """[L] ids from 1."""
        return np.array(self.tokenizer.encode(_encodable(text)).ids, dtype=np.int64) + 1

    def text(self, ids: Sequence[int]) -> str:
        """Join pieces, without bytes that aren't UTF-8."""
        spelled: str = self.tokenizer.decode([each - 1 for each in ids])
        return spelled.replace("\ufffd", "")


@dataclass(frozen=True)
class TranslationFeaturiser(TextFeaturiser):
    """Turns both sides of pairs into ids, and ids into translations.

    chinese: the Chinese characters of the training translations, the only ones written. None in
        pipelines of earlier versions, which may write any.
    """

    options: TranslationOptions
    source: CharacterSide
    target: PieceSide
    chinese: str | None = None

    @classmethod
    def empty(cls, options: TranslationOptions) -> TranslationFeaturiser:
        return cls(options, CharacterSide(TableVocab.empty()), PieceSide(""))

    @classmethod
    def build(
        cls, options: TranslationOptions, sources: Sequence[str], targets: Sequence[str]
    ) -> TranslationFeaturiser:
        """Build the vocabularies from training texts."""
        chinese = "".join(sorted({each for text in targets for each in "".join(HAN.findall(text))}))
        source = CharacterSide.build(sources, options.char_min_freq)
        return cls(options, source, PieceSide.build(targets, options.target_pieces), chinese)

    @property
    def simplifier(self) -> Simplifier:
        return self.source.simplifier

    @property
    def first(self) -> int:
        """The id before that of the first character or piece."""
        return NAMES + self.options.placeholders - 1

    @property
    def sizes(self) -> dict[str, Any]:
        """Sizes of the network."""
        first = self.first + 1
        return {"source": first + len(self.source), "target": first + len(self.target)}

    def source_ids(self, text: str, slots: Sequence[Slot] = ()) -> Ints:
        """[L] the ids of a source, with its end mark."""
        return np.concatenate([*self._marked(self.source, text, slots), [END]])

    def target_ids(self, text: str, slots: Sequence[Slot] = ()) -> Ints:
        """[L] the ids of a target between its marks."""
        return np.concatenate([[START], *self._marked(self.target, text, slots), [END]])

    def unknown(self, text: str) -> Ints:
        """The places of unknown characters of a source, except white space."""
        places = np.flatnonzero(self.source.ids(text) == 0)
        return places[[not text[place].isspace() for place in places.tolist()]]

    def spell(
        self, ids: Sequence[int], names: Sequence[Protected]
    ) -> tuple[str, list[tuple[int, int]]]:
        """The text of a target without its marks, and the places of the names in it."""
        text, places = with_names(self._stretches(ids), names)
        return text.rstrip(), places

    def to_bytes(self) -> bytes:
        data: dict[str, Any] = {
            "options": self.options.fixed(),
            "characters": pack({"index": self.source.index}, self.options),
            "simplified": self.source.simplifier.pairs,
            "target": self.target.data,
        }
        if self.chinese is not None:
            data["chinese"] = self.chinese
        return bytes(srsly.msgpack_dumps(data))

    def from_bytes(self, data: bytes) -> TranslationFeaturiser:
        saved = srsly.msgpack_loads(data)
        self.options.check_fixed(saved["options"])
        simplifier = Simplifier(saved.get("simplified", ""))
        source = CharacterSide(**unpack(saved["characters"], self.options), simplifier=simplifier)
        target = PieceSide(saved["target"])
        return TranslationFeaturiser(self.options, source, target, saved.get("chinese"))

    def _marked(
        self, side: CharacterSide | PieceSide, text: str, slots: Sequence[Slot]
    ) -> list[Ints]:
        parts = []
        start = 0
        for slot in slots:
            parts += [self._ids(side, text[start : slot.start]), np.array([NAMES + slot.number])]
            start = slot.end
        return [*parts, self._ids(side, text[start:])]

    def _ids(self, side: CharacterSide | PieceSide, text: str) -> Ints:
        ids = side.ids(text)
        return np.where(ids == 0, UNKNOWN, ids + self.first)

    def _written(self, pieces: Sequence[int]) -> str:
        text, chinese = self.target.text(pieces), self.chinese
        if chinese is None:
            return text
        return "".join(each for each in text if each in chinese or not HAN.match(each))

    def _stretches(self, ids: Sequence[int]) -> list[str | int]:
        """The numbers of names, and the texts between them."""
        found: list[str | int] = []
        pieces: list[int] = []
        for each in [*ids, END]:
            if each > self.first:
                pieces.append(each - self.first)
                continue
            if pieces:
                found.append(self._written(pieces))
                pieces = []
            if each >= NAMES:
                found.append(each - NAMES)
        return found


def _encodable(text: str) -> str:
    """Without lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
