"""The vocabulary of an encoder of characters.

Shapes: C characters.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..text.hashing import hash_characters
from ..text.windows import WindowFeaturiser
from ..util.arrays import Int32s, Ints

PAD, UNKNOWN, START, END, MASK = MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LINE_END = "\n"  # in raw text that is packed into blocks
CODE_POINTS = 0x110000


class CharacterFeaturiser(WindowFeaturiser):
    """Keys of characters: their lines in BERT's `vocab.txt`.

    White space has the key of the space. A vocabulary without capitals lower-cases.
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

    @property
    def has_capitals(self) -> bool:
        return any(len(piece) == 1 and piece.isupper() for piece in self.pieces)

    @cached_property
    def table(self) -> Int32s:
        """[code points] the key of each."""
        unknown = self.mark(UNKNOWN)
        table = np.full(CODE_POINTS, unknown, dtype=np.int32)
        known = {piece: key for key, piece in enumerate(self.pieces) if len(piece) == 1}
        if not self.has_capitals:
            capitals = {piece.upper(): key for piece, key in known.items()}
            known = {piece: key for piece, key in capitals.items() if len(piece) == 1} | known
        table[[ord(piece) for piece in known]] = list(known.values())
        table[[code for code in range(0x3001) if chr(code).isspace()]] = table[ord(" ")]
        return table

    def keys(self, text: str) -> Ints:
        return self.table[hash_characters(text, False)].astype(np.int64)

    def block_keys(self, text: str) -> Ints:
        """[C] keys of packed raw text, with marks for line ends."""
        codes = hash_characters(text, False)
        return np.where(codes == ord(LINE_END), self.mark(END), self.table[codes]).astype(np.int64)

    def to_bytes(self) -> bytes:
        return self.to_text().encode("utf-8")

    def from_bytes(self, data: bytes) -> "CharacterFeaturiser":
        return CharacterFeaturiser.from_text(data.decode("utf-8"))

    def to_text(self) -> str:
        return "".join(piece + "\n" for piece in self.pieces)

    @classmethod
    def from_text(cls, text: str) -> "CharacterFeaturiser":
        return cls(text.removesuffix("\n").split("\n"))

    def tokenizer(self) -> dict[str, Any]:
        """The `tokenizer.json` of the equivalent Hugging Face tokenizer."""

        def mark(name: str) -> dict[str, Any]:
            return {"SpecialToken": {"id": name, "type_id": 0}}

        def sequence(name: str) -> dict[str, Any]:
            return {"Sequence": {"id": name, "type_id": 0}}

        plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        added = [{"id": self.mark(m), "content": m, "special": True, **plain} for m in MARKS]
        special = {m: {"id": m, "ids": [self.mark(m)], "tokens": [m]} for m in (START, END)}
        whole = [mark(START), sequence("A"), mark(END)]
        pair = [*whole, sequence("B"), mark(END)]
        post = {"type": "TemplateProcessing", "single": whole, "pair": pair}
        normalizers = [{"type": "Replace", "pattern": {"Regex": r"[\s\x1c-\x1f]"}, "content": " "}]
        if not self.has_capitals:
            normalizers.append({"type": "Lowercase"})
        split = {
            "type": "Split",
            "pattern": {"Regex": "."},
            "behavior": "Isolated",
            "invert": False,
        }
        model = {"type": "WordPiece", "unk_token": UNKNOWN, "max_input_chars_per_word": 100}
        vocab = {piece: key for key, piece in enumerate(self.pieces)}
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": {"type": "Sequence", "normalizers": normalizers},
            "pre_tokenizer": {"type": "Split", **split},
            "post_processor": {**post, "special_tokens": special},
            "decoder": None,
            "model": {**model, "continuing_subword_prefix": "##", "vocab": vocab},
        }
