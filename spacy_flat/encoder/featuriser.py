"""The vocabularies of encoders: characters, or the pieces of a subword tokenizer.

Shapes: N characters of all texts, P pieces, C characters of a block.
"""

import json
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..text.capitals import lower_capitals
from ..text.characters import HAN
from ..text.hashing import hash_characters
from ..text.options import SegmentOptions
from ..text.segments import split_texts
from ..text.units import Units
from ..text.windows import Window, WindowFeaturiser, make_windows, spread_windows
from ..util.arrays import Int32s, Ints
from ..util.options import is_a
from ..util.simplified import simplified_pairs

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PAD, UNKNOWN, START, END, MASK = MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LINE_END = "\n"  # in raw text that is packed into blocks
CODE_POINTS = 0x110000
WORDS_PER_CHARACTER = 20  # the English BERT has 54 pieces of words per Chinese character


def lists_words(pieces: Sequence[str]) -> bool:
    """Whether the pieces of a BERT are those of English words. A Chinese or multilingual BERT has
    many of them, too, but also many Chinese characters."""
    stems = [piece.removeprefix("##") for piece in pieces]
    n_words = sum(len(stem) > 1 and stem.isascii() and stem.isalpha() for stem in stems)
    n_characters = sum(HAN.fullmatch(stem) is not None for stem in stems)
    return n_words > WORDS_PER_CHARACTER * n_characters


class Pieces(NamedTuple):
    """Texts as an encoder reads them.

    keys: [P]; windows: over these pieces.
    of_characters: [N] the piece that each character belongs to, P for none; None if the pieces are
        the characters.
    """

    keys: Ints
    windows: list[Window]
    of_characters: Ints | None


class EncoderFeaturiser(WindowFeaturiser):
    """Turns texts into the pieces that an encoder reads."""

    @abstractmethod
    def read(self, texts: Sequence[str], options: SegmentOptions) -> Pieces:
        """The pieces of texts, in windows of at most `max_length` pieces."""

    @abstractmethod
    def __len__(self) -> int:
        """How many keys there are."""

    def from_bytes(self, data: bytes) -> "EncoderFeaturiser":
        """Either featuriser: which one depends on the encoder that `initialize` read."""
        text = data.decode("utf-8")
        if text.startswith(SubwordFeaturiser.BEGINNING):
            return SubwordFeaturiser(**json.loads(text))
        return CharacterFeaturiser.from_text(text)


class CharacterFeaturiser(EncoderFeaturiser):
    """Keys of characters: their lines in BERT's `vocab.txt`.

    White space has the key of the space. A vocabulary without capitals lower-cases. An unknown
    traditional character has the key of the simplified one.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = list(pieces)

    @classmethod
    def counted(cls, counts: Ints, most: int, min_count: int) -> "CharacterFeaturiser":
        """The most frequent characters first, by counts [code points]."""
        known = np.flatnonzero(counts >= min_count)
        order = known[np.argsort(-counts[known], kind="stable")][:most]
        found = [character for character in map(chr, order.tolist()) if not character.isspace()]
        return cls([*MARKS, " ", *found])

    @property
    def marks(self) -> tuple[int, int, int]:
        return self.mark(START), self.mark(END), self.mark(PAD)

    def __len__(self) -> int:
        return len(self.pieces)

    def mark(self, name: str) -> int:
        """The key of one of the `MARKS`."""
        return self.pieces.index(name)

    def checked(self) -> "CharacterFeaturiser":
        """Raises ValueError for a missing mark."""
        for name in MARKS:
            self.mark(name)
        return self

    @property
    def has_capitals(self) -> bool:
        return any(len(piece) == 1 and piece.isupper() for piece in self.pieces)

    @cached_property
    def table(self) -> Int32s:
        """[code points] the key of each."""
        unknown = self.mark(UNKNOWN)
        table = np.full(CODE_POINTS, unknown, dtype=np.int32)
        known = {piece: key for key, piece in enumerate(self.pieces) if len(piece) == 1}
        known = {old: known[new] for old, new in simplified_pairs() if new in known} | known
        if not self.has_capitals:
            capitals = {piece.upper(): key for piece, key in known.items()}
            known = {piece: key for piece, key in capitals.items() if len(piece) == 1} | known
        table[[ord(piece) for piece in known]] = list(known.values())
        table[[code for code in range(0x3001) if chr(code).isspace()]] = table[ord(" ")]
        return table

    def keys(self, text: str) -> Ints:
        """[N]"""
        return self.table[hash_characters(text, False)].astype(np.int64)

    def read(self, texts: Sequence[str], options: SegmentOptions) -> Pieces:
        starts = np.cumsum([0, *map(len, texts)]).tolist()
        spans = [
            (starts[each.text] + each.start, starts[each.text] + each.end)
            for each in split_texts([Units.characters(text) for text in texts], options)
        ]
        return Pieces(self.keys("".join(texts)), make_windows(spans), None)

    def block_keys(self, text: str) -> Ints:
        """[C] keys of packed raw text, with marks for line ends."""
        codes = hash_characters(text, False)
        return np.where(codes == ord(LINE_END), self.mark(END), self.table[codes]).astype(np.int64)

    def to_bytes(self) -> bytes:
        return self.to_text().encode("utf-8")

    def to_text(self) -> str:
        return "".join(piece + "\n" for piece in self.pieces)

    @classmethod
    def from_text(cls, text: str) -> "CharacterFeaturiser":
        return cls(text.removesuffix("\n").split("\n"))

    def tokenizer(self) -> "Tokenizer":
        """The equivalent Hugging Face tokenizer, to which unknown traditional characters stay
        unknown."""
        from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors
        from tokenizers.models import WordPiece

        vocab = {piece: key for key, piece in enumerate(self.pieces)}
        tokenizer = Tokenizer(WordPiece(vocab, unk_token=UNKNOWN))
        spaces = normalizers.Replace(Regex(r"[\s\x1c-\x1f]"), " ")
        lower = [] if self.has_capitals else [normalizers.Lowercase()]
        tokenizer.normalizer = normalizers.Sequence([spaces, *lower])
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{START} $A {END}",
            pair=f"{START} $A {END} $B {END}",
            special_tokens=[(mark, self.mark(mark)) for mark in (START, END)],
        )
        tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in MARKS])
        return tokenizer


class SubwordFeaturiser(EncoderFeaturiser):
    """Keys of the pieces into which a Hugging Face tokenizer divides whole texts. Lines in capitals
    are lower-cased first.

    tokenizer: its `tokenizer.json`, which adds one mark before a text and one after it.
    padding: the key of padding.

    Raises ValueError for another tokenizer, or no key.
    """

    BEGINNING = '{"padding": '  # of the saved data

    def __init__(self, *, padding: int, tokenizer: str) -> None:
        self.padding = padding
        self.json = tokenizer
        if not is_a(padding, int) or padding < 0:
            raise ValueError(f"its key of padding is {padding!r}")
        if len(marks := self.tokenizer.encode("").ids) != 2:
            raise ValueError(f"its tokenizer puts {len(marks)} marks around a text, not 2")

    @property
    def marks(self) -> tuple[int, int, int]:
        begin, end = self.tokenizer.encode("").ids
        return begin, end, self.padding

    @cached_property
    def tokenizer(self) -> "Tokenizer":
        """Raises ValueError for a damaged one."""
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_str(self.json)
        except Exception as error:  # of no class of its own
            raise ValueError(f"its tokenizer can't be read ({error})") from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def __len__(self) -> int:
        keys: list[int] = [*self.marks, *self.tokenizer.get_vocab().values()]
        return 1 + max(keys)

    def read(self, texts: Sequence[str], options: SegmentOptions) -> Pieces:
        # One by one: threads of `encode_batch` don't survive the forks of `n_process`.
        texts = [lower_capitals(text) for text in texts]
        found = [self.tokenizer.encode(text, add_special_tokens=False) for text in texts]
        lengths = [len(each) for each in found]
        keys = np.array([key for each in found for key in each.ids], dtype=np.int64)
        first, owners = 0, []
        for text, each in zip(texts, found, strict=True):
            own = np.full(len(text), len(keys))
            for piece, (start, end) in enumerate(each.offsets, first):
                own[start:end] = piece
            first += len(each)
            owners.append(own)
        windows = spread_windows(lengths, options.max_length, options.overlap)
        return Pieces(keys, windows, np.concatenate([*owners, np.zeros(0, dtype=np.int64)]))

    def to_bytes(self) -> bytes:
        data = {"padding": self.padding, "tokenizer": self.json}
        return json.dumps(data, ensure_ascii=False).encode("utf-8")
