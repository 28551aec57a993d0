"""What a user may set of every entity recogniser here: what their blocks of the config share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from ..errors import Errors
from .tags import Scheme

Activation = Literal["relu", "leaky_relu", "gelu"]


@dataclass(frozen=True)
class NetworkOptions:
    """Options that the networks share.

    scheme: tags of the CRF.
    layers, heads, head_dim: the width is heads × head_dim. ff: the feed-forward layer is this many
        times as wide.
    k_proj: project the keys of the attention.
    scaled: divide its scores by √head_dim.
    *_dropout: of embeddings of characters and words (embed), before the last layer (output), in
        the feed-forward layers (ff) and of attention weights (attn).
    key_dropout: share of characters, bigrams and words made unknown in training.

    Raises ValueError (F305) for sizes below 1 and dropouts outside [0, 1).
    """

    scheme: Scheme = "BIOES"
    layers: int = 1
    heads: int = 8
    head_dim: int = 16
    ff: int = 3
    ff_activate: Activation = "relu"
    k_proj: bool = False
    scaled: bool = False
    embed_dropout: float = 0.5
    output_dropout: float = 0.3
    ff_dropout: float = 0.15
    attn_dropout: float = 0.0
    key_dropout: float = 0.01

    sizes: ClassVar[Sequence[str]] = ("layers", "heads", "head_dim", "ff")

    def __post_init__(self) -> None:
        check_sizes("network", self, self.sizes)
        for name in (field.name for field in fields(self) if field.name.endswith("_dropout")):
            rate = getattr(self, name)
            check("network", name, rate, 0 <= rate < 1, "from 0 up to below 1")


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


def check_fixed(options: TextOptions, saved: Mapping[str, object]) -> None:
    """Raises ValueError (F307) where options differ from saved ones that a network relies on."""
    for name, value in saved.items():
        given = getattr(options, name)
        if given != value:
            words = {"block": options.block, "name": name, "value": given, "saved": value}
            raise ValueError(Errors.F307.format(**words))


def check_sizes(block: str, options: object, names: Sequence[str]) -> None:
    """Raises ValueError (F305) for a value below 1."""
    for name in names:
        value = getattr(options, name)
        check(block, name, value, value >= 1, "1 or more")


def check(block: str, name: str, value: object, right: bool, wanted: str) -> None:
    """Raises ValueError (F305) where a value is not right."""
    if not right:
        raise ValueError(Errors.F305.format(block=block, name=name, value=value, wanted=wanted))
