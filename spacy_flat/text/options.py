"""What a user may set of turning texts into numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..errors import Errors
from ..options import check_sizes


@dataclass(frozen=True)
class TextOptions:
    """Options of turning texts into numbers that all encoders share.

    embed_width: width of trained vectors where no pretrained ones are given.
    bigrams: use the bigram of a character and its right neighbour.
    char_min_freq, bigram_min_freq, word_min_freq: occurrences in training from which one has a
        trained vector.
    normalise_numbers: read every digit as 0.
    normalise_embeddings: scale pretrained vectors to unit length.
    float16_vectors: keep pretrained vectors in half precision, which halves their size in memory
        and in the saved pipeline.
    fine_tune: train offsets to pretrained vectors.
    max_length: longest piece of text, in units, in one attention. Longer texts are cut.
    overlap: units that two segments share where a text had to be cut by force; at most half of
        max_length.
    batch_nodes: nodes of the attention, with padding, that are computed at once.

    Raises ValueError for sizes and frequencies below 1 (F305) and for an overlap outside 0 to
    max_length / 2 (F300).
    """

    embed_width: int = 50
    bigrams: bool = True
    char_min_freq: int = 1
    bigram_min_freq: int = 1
    word_min_freq: int = 1
    normalise_numbers: bool = False
    normalise_embeddings: bool = True
    float16_vectors: bool = False
    fine_tune: bool = True
    max_length: int = 200
    overlap: int = 40
    batch_nodes: int = 3000

    block: ClassVar[str]
    fixed: ClassVar[Sequence[str]] = ("bigrams", "normalise_numbers")  # once a network is trained
    sizes: ClassVar[Sequence[str]] = (
        "embed_width",
        "char_min_freq",
        "bigram_min_freq",
        "word_min_freq",
        "max_length",
        "batch_nodes",
    )

    def __post_init__(self) -> None:
        check_sizes(self.block, self, self.sizes)
        if not 0 <= self.overlap <= self.max_length // 2:
            values = {"overlap": self.overlap, "max_length": self.max_length}
            raise ValueError(Errors.F300.format(block=self.block, **values))
