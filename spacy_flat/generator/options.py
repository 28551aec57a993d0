"""Options of the character language model: blocks of the config, under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..text.options import TableOptions
from ..util.options import Options, option, options_factory


@dataclass(frozen=True)
class CharLMOptions(Options):
    """Options of the network. After training, only dropouts can be changed."""

    block: ClassVar[str] = "char_generator, model.network"

    cell: Literal["lstm", "gru"] = option("lstm", "cells of the recurrent layers", fixed=True)
    layers: int = option(1, "recurrent layers", min=1, fixed=True)
    width: int = option(256, "width of the recurrent layers", min=1, fixed=True)
    embed_dropout: float = option(0.2, "dropout of the embeddings", min=0, below=1)
    hidden_dropout: float = option(0.2, "dropout between recurrent layers", min=0, below=1)
    output_dropout: float = option(0.3, "dropout before the output layer", min=0, below=1)
    key_dropout: float = option(
        0.01, "share of characters read as unknown in training", min=0, below=1
    )
    ngrams: int = option(
        0,
        "n-grams (up to 5 characters) to keep from the training texts, the most useful ones and"
        " their contexts. Scores and suspicious characters use the mean of both probabilities "
        "(Mikolov et al., 2011); writing uses the network alone",
        min=0,
        fixed=True,
    )


@dataclass(frozen=True)
class TextOptions(TableOptions):
    """Options of turning texts into numbers."""

    block: ClassVar[str] = "char_generator, model.text"

    embed_width: int = option(128, "width of the vectors if none are pretrained", min=1, fixed=True)
    min_freq: int = option(
        2,
        "minimum occurrences in training of a known character; all others are one unknown "
        "character",
        min=1,
    )
    piece_length: int = option(
        100,
        "characters to read at once; longer texts carry the state over, without gradients",
        min=1,
    )
    batch_size: int = option(3000, "characters in a batch, with padding", min=1)


char_lm_options = options_factory(
    CharLMOptions,
    *("cell", "layers", "width"),
    *("embed_dropout", "hidden_dropout", "output_dropout", "ngrams"),
)
text_options = options_factory(TextOptions, "embed_width", "min_freq", "piece_length", "batch_size")
