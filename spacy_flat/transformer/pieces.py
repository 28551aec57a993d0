"""Characters as pieces of an encoder's vocabulary.

Shapes: N characters.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import srsly

from ..errors import Errors
from ..text.windows import WindowFeaturiser
from ..util.arrays import Ints

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE = "▁"  # SentencePiece's piece for the start of a word


@dataclass
class PieceFeaturiser(WindowFeaturiser):
    """One piece per character, whatever the encoder's own tokenizer would join or omit.

    The tokenizer reads each character by itself, so its lower-casing and similar settings apply.
    If it makes nothing of a character (white space, control characters) or several pieces, the
    character is the unknown piece.

    tokenizer: as JSON; "" before initialisation.
    """

    tokenizer: str = ""
    begin: int = 0
    end: int = 0
    unknown: int = 0
    padding: int = 0
    _known: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, tokenizer: Any, name: str) -> "PieceFeaturiser":
        """From a Hugging Face tokenizer. name: of the encoder, for errors.

        Raises ValueError (F362) for a slow tokenizer or one without a special piece.
        """
        special = ("cls_token_id", "sep_token_id", "unk_token_id", "pad_token_id")
        numbers = [getattr(tokenizer, each) for each in special]
        if not tokenizer.is_fast or None in numbers:
            raise ValueError(Errors.F362.format(name=name, tokenizer=type(tokenizer).__name__))
        return cls(tokenizer.backend_tokenizer.to_str(), *numbers)

    @property
    def marks(self) -> tuple[int, int, int]:
        return self.begin, self.end, self.padding

    def to_bytes(self) -> bytes:
        numbers = [self.begin, self.end, self.unknown, self.padding]
        return bytes(srsly.msgpack_dumps([self.tokenizer, *numbers]))

    def from_bytes(self, data: bytes) -> "PieceFeaturiser":
        return PieceFeaturiser(*srsly.msgpack_loads(data))

    def keys(self, text: str) -> Ints:
        """[N] ids of pieces."""
        for character in set(text) - self._known.keys():
            self._known[character] = self._piece(character)
        return np.array([self._known[character] for character in text], dtype=np.int64)

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
