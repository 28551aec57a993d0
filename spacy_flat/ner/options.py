"""What a user may set of the network of every entity recogniser here."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from ..options import check, check_sizes
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
