"""Docs as pieces of a transformer's vocabulary, in windows that it reads at once.

Shapes: P pieces of all Docs, N characters of all tokens; W windows of a batch, C pieces of a window
with a special piece at either end.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import srsly
from spacy.tokens import Doc

from ..errors import Errors
from ..text.batches import batch_by_cost
from ..text.featuriser import TextFeaturiser
from ..text.scripts import lower_capitals
from ..text.segments import split_units
from ..text.spans import Units
from ..text.tok2vec import token_of_unit
from ..util.arrays import Bools, Ints
from .options import CharacterTransformerOptions

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORD_START = "▁"  # SentencePiece's piece for the start of a word
TEXT = re.compile("[^\x1f]+")  # the two texts of a pair are read separately

Spans = list[tuple[int, int]]


class Window(NamedTuple):
    """Pieces [start, end) of all texts are read; the vectors of [first, last) are kept."""

    start: int
    end: int
    first: int
    last: int


class WindowBatch(NamedTuple):
    """Padded windows; where the n kept vectors are in W × C, and which of the P pieces they are."""

    ids: Ints  # [W, C]
    mask: Bools  # [W, C] False for padding
    places: Ints  # [n]
    pieces: Ints  # [n]


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
        split = self._split_text if options.tokenize == "text" else self._split_characters
        ids, of_characters = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        spans: Spans = []
        n_pieces = 0
        for doc in docs:
            in_token = token_of_unit(doc, 1, "char") > 0
            owners = np.full(len(doc.text), -1)
            for match in TEXT.finditer(doc.text):
                start, end = match.span()
                found, own, parts = split(match[0], in_token[start:end], options)
                owners[start:end] = np.where(own < 0, -1, n_pieces + own)
                spans += [(n_pieces + first, n_pieces + last) for first, last in parts]
                ids.append(found)
                n_pieces += len(found)
            of_characters.append(owners[in_token])
        of_all = np.concatenate(of_characters)
        of_all[of_all < 0] = n_pieces
        return Pieces(np.concatenate(ids), make_windows(spans), of_all)

    def batches(self, pieces: Pieces, max_pieces: int) -> Iterator[WindowBatch]:
        """Padded batches of windows of similar length, the longest first; of at most so many pieces
        with padding, or one window."""
        lengths = np.array([window.end - window.start for window in pieces.windows], np.int64)
        order = np.argsort(-lengths, kind="stable")
        for rows in batch_by_cost(lengths, max_pieces, order=order):
            yield self._batch(pieces.ids, [pieces.windows[row] for row in rows], lengths[rows])

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

    def _split_characters(
        self, text: str, in_token: Bools, options: CharacterTransformerOptions
    ) -> tuple[Ints, Ints, Spans]:
        """The pieces of a text, each character's piece (-1 for none), and spans to read at once."""
        ids = self.ids(text)
        kept = np.zeros(len(text), dtype=bool)
        kept[Units.visible_characters(text).starts] = True
        kept &= in_token | (ids != self.unknown)
        owners = np.where(kept, np.cumsum(kept) - 1, -1)
        units = Units.visible_characters("".join(compress(text, kept)))
        segments = split_units(0, units, options.window, options.overlap)
        return ids[kept], owners, [(each.start, each.end) for each in segments]

    def _split_text(
        self, text: str, in_token: Bools, options: CharacterTransformerOptions
    ) -> tuple[Ints, Ints, Spans]:
        """As `_split_characters`. Lines in capitals are read in lower case."""
        # Alone: threads of `encode_batch` don't survive the forks of `n_process`.
        found = self._tokenizer.encode(lower_capitals(text), add_special_tokens=False)
        owners = np.full(len(text), -1)
        for number, (start, end) in enumerate(found.offsets):
            owners[start:end] = number
        spans = strided_spans(len(found), options.window, options.overlap)
        return np.array(found.ids, dtype=np.int64), owners, spans

    def _batch(self, flat: Ints, windows: Sequence[Window], lengths: Ints) -> WindowBatch:
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


def make_windows(spans: Iterable[tuple[int, int]]) -> list[Window]:
    """Windows over sorted spans. Each keeps the half of an overlap that is nearer its middle."""
    windows: list[Window] = []
    for start, end in spans:
        first = start
        if windows and windows[-1].end > start:
            first = (start + windows[-1].end) // 2
            windows[-1] = windows[-1]._replace(last=first)
        windows.append(Window(start, end, first, end))
    return windows


def strided_spans(length: int, width: int, overlap: int) -> Spans:
    """Spans of at most `width`, evenly spread over a text."""
    overlap = min(overlap, width // 2)
    count = max(1, -(-(length - overlap) // (width - overlap))) if length else 0
    starts = np.linspace(0, max(0, length - width), count).round().astype(np.int64)
    return [(start, min(start + width, length)) for start in starts.tolist()]
