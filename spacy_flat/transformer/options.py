"""Options of an encoder: a block of the config, registered under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..util.options import Options, option, renamed

Layers = Literal["last", "mean_of_last_four"]


@dataclass(frozen=True)
class CharacterTransformerOptions(Options):
    """Options of an encoder that gives one vector a character."""

    block: ClassVar[str] = "transformer, model.network"

    layers: Layers = option(
        "last",
        "which vectors to take: the last layer's, or the mean of the last four",
        fixed=True,
    )
    window: int = option(
        510,
        "characters that the encoder reads at once; BERT's 512 places less one at either end",
        least=1,
    )
    overlap: int = option(
        128,
        "characters that two windows of a longer text share at least; each is taken from the "
        "window in which it is further from the border; at most half of window",
        least=0,
    )
    batch_size: int = option(
        4096, "characters, with padding, that are computed at once in prediction", least=1
    )
    fine_tune: bool = option(
        True, "train the encoder with the components that listen; false freezes it"
    )
    frozen_steps: int = option(
        0, "steps at the start of training during which the encoder stays frozen", least=0
    )
    warmup_steps: int = option(
        0,
        "steps after these over which the encoder's learning rate rises to the full rate",
        least=0,
    )


character_transformer_options_v1 = renamed(
    CharacterTransformerOptions, batch_pieces="batch_size", tuned="fine_tune"
)
