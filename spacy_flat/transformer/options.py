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
        "characters",
        "what the tokenizer splits: single characters, one piece each; or whole texts, whose "
        "characters get the vectors of their pieces, as for English",
        fixed=True,
    )
    layers: Literal["last"] = option("last", "the layer whose vectors are used", fixed=True)
    window: int = option(
        510,
        "pieces to read at once: BERT's 512 positions, minus one at either end; longer texts are "
        "split",
        least=1,
    )
    overlap: int = option(
        128,
        "pieces that two windows share where a text is split within a sentence; each one's vector "
        "is from the window in which it is further from the border; at most half of window",
        least=0,
    )
    batch_size: int = option(4096, "pieces in a batch, with padding, in prediction", least=1)
    fine_tune: bool = option(True, "train the transformer with its listeners; false freezes it")
    frozen_steps: int = option(
        0, "steps at the start of training in which the transformer stays frozen", least=0
    )
    warmup_steps: int = option(
        0, "steps after that in which its learning rate rises to the full rate", least=0
    )
