"""Options of an encoder: a block of the config, registered under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..util.options import Options, option

Layers = Literal["last", "mean_of_last_four"]


@dataclass(frozen=True)
class CharacterTransformerOptions(Options):
    """Options of an encoder with one vector per character."""

    block: ClassVar[str] = "transformer, model.network"

    layers: Layers = option(
        "last",
        "vectors to use: those of the last layer, or the mean of the last four",
        fixed=True,
    )
    window: int = option(
        510,
        "characters to read at once: BERT's 512 positions, minus one at either end",
        least=1,
    )
    overlap: int = option(
        128,
        "minimum number of characters that two windows of a longer text share; each one's vector "
        "is from the window in which it is further from the border; at most half of window",
        least=0,
    )
    batch_size: int = option(4096, "characters in a batch, with padding, in prediction", least=1)
    fine_tune: bool = option(True, "train the encoder with its listeners; false freezes it")
    frozen_steps: int = option(
        0, "steps at the start of training in which the encoder stays frozen", least=0
    )
    warmup_steps: int = option(
        0,
        "steps after that in which the encoder's learning rate rises to the full rate",
        least=0,
    )
