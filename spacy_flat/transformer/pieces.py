"""Docs as pieces of a transformer's vocabulary.

Shapes: P pieces of all Docs, N characters of all tokens.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import srsly
from spacy.tokens import Doc

from ..errors import Errors
from ..text.capitals import lower_capitals
from ..text.featuriser import TextFeaturiser
from ..text.padding import group_by_cost
from ..text.segments import split_units
from ..text.tok2vec import token_of_unit
from ..text.units import Units
from ..util.arrays import Bools, Ints
from .options import CharacterTransformerOptions
from .windows import Spans, Window, WindowBatch, make_windows, strided_spans

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORD_START = "▁"  # SentencePiece's piece for the start of a word
TEXT = re.compile("[^\x1f]+")  # the two texts of a pair are read separately


class Pieces(NamedTuple):
    """The pieces of Docs.

    ids: [P]; windows: over these pieces.
    of_characters: [N] the piece that each character of a token belongs to, P for none.
    """

    ids: Ints
    windows: list[Window]
    of_characters: Ints


@dataclass
class PieceFeaturiser(TextFeaturiser):
    """Splits Docs into the pieces of a tokenizer.

    With `tokenize = "characters"`, one piece per character, whatever the tokenizer would join or
    omit: it reads each character by itself, so its lower-casing and similar settings apply. If it
    makes nothing of a character (such as a control character) or several pieces, the character is
    the unknown piece, or left out if it is in no token, as single spaces are. Characters of zero
    width are left out, too.

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
        """From a Hugging Face tokenizer. name: of the transformer, for errors.

        Raises ValueError (F362) for a slow tokenizer or one without a special piece.
        """
        special = ("cls_token_id", "sep_token_id", "unk_token_id", "pad_token_id")
        ids = [getattr(tokenizer, each) for each in special]
        if not tokenizer.is_fast or None in ids:
            raise ValueError(Errors.F362.format(name=name, tokenizer=type(tokenizer).__name__))
        return cls(tokenizer.backend_tokenizer.to_str(), *ids)

    def to_bytes(self) -> bytes:
        ids = [self.begin, self.end, self.unknown, self.padding]
        return bytes(srsly.msgpack_dumps([self.tokenizer, *ids]))

    def from_bytes(self, data: bytes) -> "PieceFeaturiser":
        return PieceFeaturiser(*srsly.msgpack_loads(data))

    def read(self, docs: Sequence[Doc], options: CharacterTransformerOptions) -> Pieces:
        """Split Docs into pieces, and these into windows."""
        ids, spans, of_characters, n_pieces = [], [], [], 0
        for doc in docs:
            in_token = token_of_unit(doc, 1, "char") > 0
            of_doc = np.full(len(doc.text), -1)
            for match in TEXT.finditer(doc.text):
                start, end = match.span()
                if options.tokenize == "text":
                    found, owners, parts = self._split_text(match[0], options)
                else:
                    inside = in_token[start:end]
                    found, owners, parts = self._split_characters(match[0], inside, options)
                of_doc[start:end] = np.where(owners < 0, -1, n_pieces + owners)
                spans += [(n_pieces + first, n_pieces + last) for first, last in parts]
                ids.append(found)
                n_pieces += len(found)
            of_characters.append(of_doc[in_token])
        nothing = np.zeros(0, dtype=np.int64)
        owners = np.concatenate([nothing, *of_characters])
        return Pieces(
            np.concatenate([nothing, *ids]),
            make_windows(spans),
            np.where(owners < 0, n_pieces, owners),
        )

    def batches(self, pieces: Pieces, max_pieces: int) -> Iterator[WindowBatch]:
        """Padded batches of windows of similar length, the longest first; of at most so many pieces
        with padding, or one window."""
        if not pieces.windows:
            return
        lengths = np.array([window.end - window.start for window in pieces.windows])
        order = np.argsort(-lengths, kind="stable")
        for rows in group_by_cost(order, lengths, np.zeros_like(lengths), max_pieces):
            yield self._batch(pieces.ids, [pieces.windows[row] for row in rows])

    def ids(self, text: str) -> Ints:
        """[characters] the piece of each."""
        for character in set(text) - self._known.keys():
            self._known[character] = self._id_of(character)
        return np.array([self._known[character] for character in text], dtype=np.int64)

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self.tokenizer)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _id_of(self, character: str) -> int:
        found = self._tokenizer.encode(character, add_special_tokens=False)
        pairs = zip(found.ids, found.tokens, strict=True)
        ids = [number for number, piece in pairs if piece != WORD_START]
        return ids[0] if len(ids) == 1 else self.unknown

    def _batch(self, flat: Ints, windows: Sequence[Window]) -> WindowBatch:
        lengths = np.array([window.end - window.start for window in windows])
        width = 2 + int(lengths.max())
        ids = np.full((len(windows), width), self.padding, dtype=np.int64)
        ids[:, 0] = self.begin
        places, pieces = [], []
        for row, (window, length) in enumerate(zip(windows, lengths.tolist(), strict=True)):
            ids[row, 1 : length + 1] = flat[window.start : window.end]
            ids[row, length + 1] = self.end
            pieces.append(np.arange(window.first, window.last))
            places.append(row * width + 1 - window.start + pieces[-1])
        mask = np.arange(width) < lengths[:, None] + 2
        return WindowBatch(ids, mask, np.concatenate(places), np.concatenate(pieces))

    def _split_characters(
        self, text: str, in_token: Bools, options: CharacterTransformerOptions
    ) -> tuple[Ints, Ints, Spans]:
        """The pieces of a text, the piece of each character (-1 for none), and spans of pieces that
        are read at once."""
        ids = self.ids(text)
        kept = np.zeros(len(text), dtype=bool)
        kept[Units.visible_characters(text).starts] = True
        kept &= in_token | (ids != self.unknown)
        owners = np.where(kept, np.cumsum(kept) - 1, -1)
        units = Units.characters("".join(compress(text, kept)))
        segments = split_units(0, units, options.window, options.overlap)
        return ids[kept], owners, [(each.start, each.end) for each in segments]

    def _split_text(
        self, text: str, options: CharacterTransformerOptions
    ) -> tuple[Ints, Ints, Spans]:
        """As `_split_characters`. Lines in capitals are read in lower case."""
        # Alone: threads of `encode_batch` don't survive the forks of `n_process`.
        found = self._tokenizer.encode(lower_capitals(text), add_special_tokens=False)
        owners = np.full(len(text), -1)
        for number, (start, end) in enumerate(found.offsets):
            owners[start:end] = number
        spans = strided_spans(len(found), options.window, options.overlap)
        return np.array(found.ids, dtype=np.int64), owners, spans
