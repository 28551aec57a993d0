"""Options of the translator: blocks of the config, under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..util.options import Options, option, options_factory


@dataclass(frozen=True)
class Seq2SeqOptions(Options):
    """Options of the network. After training, dropouts and label_smoothing can be changed."""

    block: ClassVar[str] = "seq2seq_translator, model.network"

    encoder_layers: int = option(4, "layers of the encoder", min=1, fixed=True)
    decoder_layers: int = option(2, "layers of the decoder", min=1, fixed=True)
    width: int = option(256, "width of the network; a multiple of num_heads", min=1, fixed=True)
    num_heads: int = option(4, "heads of each attention", min=1, fixed=True)
    ff_width: int = option(1024, "width of the feed-forward layers", min=1, fixed=True)
    dropout: float = option(
        0.0, "dropout of embeddings and sublayers; 0.1 to 0.3 for small corpora", min=0, below=1
    )
    ff_dropout: float = option(0.1, "dropout within feed-forward layers", min=0, below=1)
    label_smoothing: float = option(
        0.1, "share of the probability to spread over all pieces", min=0, below=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = f"a divisor of width = {self.width}"
        self.require("num_heads", self.width % self.num_heads == 0, wanted)


@dataclass(frozen=True)
class TranslationOptions(Options):
    """Options of turning texts into ids, and these into texts."""

    block: ClassVar[str] = "seq2seq_translator, model.text"

    source: Literal["char"] = option("char", "units of the source", fixed=True)
    min_freq: int = option(
        1,
        "minimum occurrences of a known character; with 2, the network learns to read unknown ones",
        min=1,
    )
    target_pieces: int = option(6000, "maximum number of target pieces", min=256, fixed=True)
    placeholders: int = option(
        8, "maximum names in a sentence; one with more is split", min=1, fixed=True
    )
    max_length: int = option(100, "maximum characters of a sentence; longer ones are split", min=1)
    longest_pair: int = option(
        200, "skip training pairs with a longer side, in characters or pieces", min=1
    )
    batch_size: int = option(1500, "characters and pieces in a batch, with padding", min=1)


seq2seq_options = options_factory(
    Seq2SeqOptions,
    *("encoder_layers", "decoder_layers", "width", "num_heads"),
    *("dropout", "label_smoothing"),
)
translation_options = options_factory(
    TranslationOptions, "source", "target_pieces", "min_freq", "max_length", "batch_size"
)
