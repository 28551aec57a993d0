"""Characters as pieces of an encoder's vocabulary, and long texts as windows.

Shapes: B windows, S pieces of a window with one before and one behind, N characters of all texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import srsly

from ..errors import Errors
from ..text.batches import TextFeaturiser, group_by_cost
from ..text.units import Ints
from .batch import PieceBatch
from .options import CharacterTransformerOptions

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE = "▁"  # SentencePiece's piece for the start of a word


class Window(NamedTuple):
    """Characters [start, end) that are read together, of which [first, last) are taken."""

    start: int
    end: int
    first: int
    last: int


def windows_of(length: int, width: int, overlap: int) -> list[Window]:
    """Windows over a text of this many characters, evenly spread. Each character is taken from one
    window, the one in which it is further from the border."""
    if length <= width:
        return [Window(0, length, 0, length)] if length else []
    count = -(-(length - overlap) // (width - overlap))
    starts = np.linspace(0, length - width, count).round().astype(np.int64)
    middles = (starts[:-1] + width + starts[1:]) // 2
    bounds = [0, *middles.tolist(), length]
    return [
        Window(start, start + width, first, last)
        for start, first, last in zip(starts.tolist(), bounds[:-1], bounds[1:], strict=True)
    ]


@dataclass
class PieceFeaturiser(TextFeaturiser):
    """One piece a character, whatever the encoder's own tokenizer would join or leave out.

    Each character is given to the tokenizer by itself, so that the tokenizer's lower case and the
    like hold. Where it makes nothing of a character (white space, control characters) or more than
    one piece, this is the unknown piece.

    tokenizer: as JSON; "" while there is none.
    """

    tokenizer: str = ""
    begin: int = 0
    end: int = 0
    unknown: int = 0
    padding: int = 0
    _known: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, tokenizer: Any, name: str) -> "PieceFeaturiser":
        """Of a tokenizer of transformers'.

        name: of the encoder, for errors.

        Raises ValueError (F362) for one that is not fast or lacks a special piece.
        """
        special = ("cls_token_id", "sep_token_id", "unk_token_id", "pad_token_id")
        numbers = [getattr(tokenizer, each) for each in special]
        if not tokenizer.is_fast or None in numbers:
            raise ValueError(Errors.F362.format(name=name, tokenizer=type(tokenizer).__name__))
        return cls(tokenizer.backend_tokenizer.to_str(), *numbers)

    @property
    def unit(self) -> Literal["char"]:
        return "char"

    def to_bytes(self) -> bytes:
        numbers = [self.begin, self.end, self.unknown, self.padding]
        return bytes(srsly.msgpack_dumps([self.tokenizer, *numbers]))

    def from_bytes(self, data: bytes) -> "PieceFeaturiser":
        return PieceFeaturiser(*srsly.msgpack_loads(data))

    def pieces(self, text: str) -> Ints:
        """[characters] numbers in the vocabulary."""
        for character in set(text) - self._known.keys():
            self._known[character] = self._piece(character)
        return np.array([self._known[character] for character in text], dtype=np.int64)

    def batches(
        self, texts: Sequence[str], options: CharacterTransformerOptions
    ) -> Iterator[PieceBatch]:
        """Windows of like length together, each of at most `batch_pieces` characters with padding
        (or of one window)."""
        flat = self.pieces("".join(texts))
        starts = np.cumsum([0, *map(len, texts)]).tolist()
        windows = [
            Window(*(start + place for place in window))
            for start, text in zip(starts, texts, strict=False)
            for window in windows_of(len(text), options.window, options.overlap)
        ]
        if not windows:
            return
        lengths = np.array([window.end - window.start for window in windows])
        order = np.argsort(lengths, kind="stable")
        nothing = np.zeros_like(lengths)
        for rows in group_by_cost(order, lengths, nothing, options.batch_pieces):
            yield self._batch(flat, [windows[row] for row in rows])

    def _batch(self, flat: Ints, windows: Sequence[Window]) -> PieceBatch:
        width = 2 + max(window.end - window.start for window in windows)
        pieces = np.full((len(windows), width), self.padding)
        present = np.zeros(pieces.shape, dtype=np.bool_)
        places, characters = [], []
        for row, (start, end, first, last) in enumerate(windows):
            present[row, : end - start + 2] = True
            pieces[row, 0], pieces[row, end - start + 1] = self.begin, self.end
            pieces[row, 1 : end - start + 1] = flat[start:end]
            places.append(row * width + 1 + np.arange(first - start, last - start))
            characters.append(np.arange(first, last))
        return PieceBatch(pieces, present, np.concatenate(places), np.concatenate(characters))

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self.tokenizer)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _piece(self, character: str) -> int:
        found = self._tokenizer.encode(character, add_special_tokens=False)
        pairs = zip(found.ids, found.tokens, strict=True)
        numbers = [number for number, piece in pairs if piece != SPACE]
        return numbers[0] if len(numbers) == 1 else self.unknown
