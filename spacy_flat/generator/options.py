"""Options of the character language model: blocks of the config, under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..text.options import TableOptions
from ..util.options import Options, option, renamed, surface

Cell = Literal["lstm", "gru"]


@dataclass(frozen=True)
class CharLMOptions(Options):
    """Options of the network. Dropouts may be changed after training, nothing else."""

    block: ClassVar[str] = "char_generator, model.network"

    cell: Cell = option("lstm", "cells of the recurrent layers", fixed=True)
    layers: int = option(1, "recurrent layers", least=1, fixed=True)
    width: int = option(256, "width of the recurrent layers", least=1, fixed=True)
    tied: bool = option(
        True,
        "the weights of the output layer are the embeddings (Press & Wolf, 2017); where width and "
        "embed_width differ, a linear map is between them",
        fixed=True,
    )
    variational: bool = option(
        True,
        "dropouts zero the same numbers of all characters of a piece (Gal & Ghahramani, 2016), "
        "instead of different ones for each",
    )
    embed_dropout: float = option(0.2, "dropout of the embeddings", least=0, below=1)
    hidden_dropout: float = option(0.2, "dropout between recurrent layers", least=0, below=1)
    output_dropout: float = option(0.3, "dropout before the output layer", least=0, below=1)
    key_dropout: float = option(
        0.01, "share of characters that are read as unknown in training", least=0, below=1
    )


@dataclass(frozen=True)
class TextOptions(TableOptions):
    """Options of turning texts into numbers."""

    block: ClassVar[str] = "char_generator, model.text"

    embed_width: int = option(
        128, "width of trained vectors where no pretrained ones are given", least=1, fixed=True
    )
    char_min_freq: int = option(
        2,
        "occurrences in training from which a character is known; all others are one unknown "
        "character",
        least=1,
        fixed=True,
    )
    piece_length: int = option(
        100,
        "characters of a text that are computed at once; longer texts go on with the state that "
        "the piece before left, through which no gradient flows back",
        least=1,
    )
    batch_size: int = option(3000, "characters, with padding, that are computed at once", least=1)


char_lm_options = surface(
    CharLMOptions, "cell", "layers", "width", "embed_dropout", "hidden_dropout", "output_dropout"
)
text_options = surface(TextOptions, "embed_width", "min_freq", "piece_length", "batch_size")
text_options_v1 = renamed(TextOptions, batch_characters="batch_size")
