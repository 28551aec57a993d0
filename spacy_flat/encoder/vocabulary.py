"""The characters that an encoder knows, in the order of its embeddings.

Shapes: C characters.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..text.hashing import hash_characters
from ..text.units import Ints
from ..text.windows import WindowFeaturiser

PAD, UNKNOWN, START, END, MASK = MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LINE_END = "\n"  # in raw text that is packed into blocks
CODE_POINTS = 0x110000


class CharacterFeaturiser(WindowFeaturiser):
    """Keys of characters: places in the vocabulary, as BERT's `vocab.txt` has them a line each.

    Every white-space character has the key of the space. A vocabulary without capital letters
    reads these as small ones.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = list(pieces)

    @classmethod
    def counted(cls, counts: Ints, most: int, min_count: int) -> "CharacterFeaturiser":
        """Those with the highest of the counts [code points], the most frequent first."""
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
    def table(self) -> NDArray[np.int32]:
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
        """[C] of a text."""
        return self.table[hash_characters(text, False)].astype(np.int64)

    def block_keys(self, text: str) -> Ints:
        """[C] of packed raw text, in which the lines' ends are marks."""
        codes = hash_characters(text, False)
        return np.where(codes == ord(LINE_END), self.mark(END), self.table[codes]).astype(np.int64)

    def to_bytes(self) -> bytes:
        return self.to_text().encode("utf-8")

    def from_bytes(self, data: bytes) -> "CharacterFeaturiser":
        return CharacterFeaturiser.from_text(data.decode("utf-8"))

    def to_text(self) -> str:
        """A line for each key."""
        return "".join(piece + "\n" for piece in self.pieces)

    @classmethod
    def from_text(cls, text: str) -> "CharacterFeaturiser":
        return cls(text.removesuffix("\n").split("\n"))

    def tokenizer(self) -> dict[str, Any]:
        """The `tokenizer.json` of a Hugging Face tokenizer that does the same."""
        keys = {name: self.mark(name) for name in MARKS}
        special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        start, text, end = ({"SpecialToken": {"id": START, "type_id": 0}}, "A", END)
        whole = [start, {"Sequence": {"id": text, "type_id": 0}}]
        whole.append({"SpecialToken": {"id": end, "type_id": 0}})
        second = [{"Sequence": {"id": "B", "type_id": 0}}, whole[-1]]
        marks = {name: {"id": name, "ids": [keys[name]], "tokens": [name]} for name in (START, END)}
        normalizers = [{"type": "Replace", "pattern": {"Regex": r"[\s\x1c-\x1f]"}, "content": " "}]
        if not self.has_capitals:
            normalizers.append({"type": "Lowercase"})
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                {"id": key, "content": name, "special": True, **special}
                for name, key in keys.items()
            ],
            "normalizer": {"type": "Sequence", "normalizers": normalizers},
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "."},
                "behavior": "Isolated",
                "invert": False,
            },
            "post_processor": {
                "type": "TemplateProcessing",
                "single": whole,
                "pair": [*whole, *second],
                "special_tokens": marks,
            },
            "decoder": None,
            "model": {
                "type": "WordPiece",
                "unk_token": UNKNOWN,
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {piece: key for key, piece in enumerate(self.pieces)},
            },
        }
