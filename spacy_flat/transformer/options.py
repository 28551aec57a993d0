"""Options of a transformer: a block of the config, registered under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..util.options import Options, option

Tokenize = Literal["characters", "text"]


@dataclass(frozen=True)
class CharacterTransformerOptions(Options):
    """Options of a transformer with one vector per character."""

    block: ClassVar[str] = "transformer, model.network"

    tokenize: Tokenize = option(
        "characters", "read each character as one piece, or the pieces of whole texts", fixed=True
    )
    layers: Literal["last"] = option("last", "the layer to read", fixed=True)
    window: int = option(
        510,
        "pieces to read at once, two fewer than the encoder's positions; longer texts are split",
        min=1,
    )
    overlap: int = option(
        128, "pieces that two windows of a split sentence share; at most half of window", min=0
    )
    batch_size: int = option(1024, "pieces in a batch in prediction, with padding", min=1)
    bfloat16: bool = option(
        True, "multiply in bfloat16 on processors that support it, nearly twice as fast"
    )
    fine_tune: bool = option(True, "train the transformer; false freezes it")
    frozen_steps: int = option(
        0, "first steps of training, in which the transformer stays frozen", min=0
    )
    warmup_steps: int = option(0, "steps after these in which its learning rate rises", min=0)
