"""Options of TENER: blocks of the config, registered under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...text.options import SegmentOptions, UnitOptions
from ...text.spans import Unit
from ...util.options import option, options_factory
from ..options import NetworkOptions

Encoder = Literal["transformer", "none"]
CHAR_HEADS = 3  # of adatrans, as in the paper

CharEncoder = Literal["none", "adatrans", "lstm"]


@dataclass(frozen=True)
class TENEROptions(NetworkOptions):
    """Options of the TENER network, in the terms of Yan et al. (2019).

    Also raises ValueError (F305) for a char_width that the encoder can't divide.
    """

    block: ClassVar[str] = "tener_ner, model.network"

    layers: int = option(2, "layers of attention and feed-forward", min=1, fixed=True)
    ff: int = option(
        2, "width of the feed-forward layers, as a multiple of the network's", min=1, fixed=True
    )
    encoder: Encoder = option(
        "transformer",
        "TENER's transformer, or none above a tok2vec that does the encoding",
        fixed=True,
    )
    char_encoder: CharEncoder = option(
        "adatrans",
        "encoder of spellings, for unit = token: a layer of TENER's transformer, an LSTM or none",
        fixed=True,
    )
    char_width: int = option(30, "width of a spelling's encoding", min=1, fixed=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = {"adatrans": CHAR_HEADS, "lstm": 2}.get(self.char_encoder, 1)
        self.require("char_width", self.char_width % parts == 0, f"a multiple of {parts}")


@dataclass(frozen=True)
class SequenceOptions(SegmentOptions, UnitOptions):
    """Options of turning texts into sequences.

    Only words have `word_min_freq` and `lower_case`, only characters `bigrams`.
    """

    block: ClassVar[str] = "tener_ner, model.sequence"

    unit: Unit = option(
        "char", "what to tag: characters, whatever the tokens are, or tokens", fixed=True
    )
    characters: bool = option(
        True,
        "embed characters, for unit = char; otherwise only a tok2vec provides vectors",
        fixed=True,
    )
    lower_case: bool = option(
        True,
        "look up words in lower case; spellings keep their case, except in lines in capitals",
        fixed=True,
    )
    normalise_numbers: bool = option(True, "read every digit as 0", fixed=True)


tener_options = options_factory(
    TENEROptions, "layers", "num_heads", "head_dim", "embed_dropout", "output_dropout", "r_drop"
)
sequence_options = options_factory(SequenceOptions, "unit", "min_freq", "max_length", "batch_size")
