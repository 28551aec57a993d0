"""Options of the translator: blocks of the config, under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..util.options import Options, option, renamed, surface

Norm = Literal["pre", "post"]
PositionKind = Literal["sinusoidal", "learned", "relative"]
Source = Literal["char", "bpe"]


@dataclass(frozen=True)
class Seq2SeqOptions(Options):
    """Options of the network. Dropouts and label_smoothing may be changed after training, nothing
    else."""

    block: ClassVar[str] = "seq2seq_translator, model.network"

    encoder_layers: int = option(4, "layers that read the source", least=1, fixed=True)
    decoder_layers: int = option(2, "layers that write the translation", least=1, fixed=True)
    width: int = option(256, "width of the network; a multiple of num_heads", least=1, fixed=True)
    num_heads: int = option(4, "heads of each attention", least=1, fixed=True)
    ff_width: int = option(1024, "width of the feed-forward layers", least=1, fixed=True)
    norm: Norm = option(
        "pre",
        "normalise before each sublayer, which trains stably at high rates, or after it, as "
        "published",
        fixed=True,
    )
    positions: PositionKind = option(
        "sinusoidal",
        "sinusoids; vectors learned for the first 128 places, sinusoids after them; or numbers "
        "learned for distances, by head (Raffel et al., 2020)",
        fixed=True,
    )
    tied: bool = option(
        True, "the weights of the output layer are the embeddings of the target", fixed=True
    )
    dropout: float = option(
        0.0,
        "dropout of embeddings, and of what each sublayer adds; thousands of pairs need 0.1 to 0.3",
        least=0,
        below=1,
    )
    attention_dropout: float = option(
        0.0,
        "dropout of attention weights; without, torch's fast CPU kernel computes them",
        least=0,
        below=1,
    )
    ff_dropout: float = option(0.1, "dropout within feed-forward layers", least=0, below=1)
    label_smoothing: float = option(
        0.1, "share of the target's probability that is spread over all pieces", least=0, below=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(
            "num_heads", self.width % self.num_heads == 0, f"a divisor of width = {self.width}"
        )


@dataclass(frozen=True)
class TranslationOptions(Options):
    """Options of turning texts into numbers, and these into texts."""

    block: ClassVar[str] = "seq2seq_translator, model.text"

    source: Source = option(
        "char", "read the source as characters, or as pieces of words by BPE", fixed=True
    )
    char_min_freq: int = option(
        1,
        "occurrences in training from which a character of the source is known; from 2 on, the "
        "network learns what to do with unknown ones",
        least=1,
        fixed=True,
    )
    source_pieces: int = option(
        8000, 'most pieces of the source, for source = "bpe"', least=256, fixed=True
    )
    target_pieces: int = option(6000, "most pieces of the target", least=256, fixed=True)
    shared: bool = option(
        False,
        "one BPE, of target_pieces, and one table of embeddings for both sides; needs "
        'source = "bpe"',
        fixed=True,
    )
    placeholders: int = option(
        8,
        "names that can be carried through one sentence; a sentence with more is cut",
        least=1,
        fixed=True,
    )
    max_length: int = option(
        100,
        "longest sentence, in characters, that is translated at once; longer ones are cut",
        least=1,
    )
    longest_pair: int = option(
        200, "leave out training pairs with a longer side, in characters or pieces", least=1
    )
    batch_size: int = option(
        1500, "characters and pieces, with padding, that are computed at once", least=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("shared", not self.shared or self.source == "bpe", 'false, or source "bpe"')


seq2seq_options = surface(
    Seq2SeqOptions,
    "encoder_layers",
    "decoder_layers",
    "width",
    "num_heads",
    "dropout",
    "label_smoothing",
)
translation_options = surface(
    TranslationOptions, "source", "target_pieces", "min_freq", "max_length", "batch_size"
)
seq2seq_options_v1 = renamed(Seq2SeqOptions, heads="num_heads")
translation_options_v1 = renamed(TranslationOptions, batch_tokens="batch_size")
