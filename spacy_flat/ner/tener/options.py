"""What a user may set of TENER: blocks of the config, registered under `@misc`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...options import check
from ...text.options import TextOptions
from ...text.units import Unit
from ..options import NetworkOptions

Encoder = Literal["transformer", "bilstm"]
Attention = Literal["relative", "absolute"]
Norm = Literal["post", "pre"]
CharEncoder = Literal["none", "adatrans", "cnn", "lstm"]


@dataclass(frozen=True)
class TENEROptions(NetworkOptions):
    """Options of the TENER network, in the terms of Yan et al. (2019), beside `NetworkOptions`.

    encoder: "transformer", or "bilstm" for a bidirectional LSTM of the same width.
    attention: "relative" (TENER's: it knows directions and distances), or "absolute" (the vanilla
        Transformer: encodings of places added to its input, projected keys, scaled scores).
    k_proj and scaled are of relative attention; the paper has neither.
    key_positions: add the keys' own relative term, k_j · R(j - i), as a later release does, with
        projected keys.
    norm: "post", behind the sum of a sublayer's input and output, or "pre", before the sublayer.
    char_encoder: what reads the spelling of a word (unit = "token"): "adatrans" (a layer of this
        Transformer), "cnn", "lstm" or "none".
    char_width: of a spelling. char_heads: of "adatrans".
    case_features: say of a word whether it is in lower case, upper case, a number and so on.

    Raises ValueError (F305) also for widths that can't be divided as the encoders need.
    """

    layers: int = 2
    ff: int = 2
    encoder: Encoder = "transformer"
    attention: Attention = "relative"
    key_positions: bool = False
    norm: Norm = "post"
    char_encoder: CharEncoder = "adatrans"
    char_width: int = 30
    char_heads: int = 3
    case_features: bool = True

    sizes: ClassVar[Sequence[str]] = (*NetworkOptions.sizes, "char_width", "char_heads")

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = {"adatrans": self.char_heads, "lstm": 2}.get(self.char_encoder, 1)
        whole = self.char_width % parts == 0
        check("network", "char_width", self.char_width, whole, f"a multiple of {parts}")
        if self.encoder == "bilstm":
            even = self.heads * self.head_dim % 2 == 0
            check("network", "head_dim", self.head_dim, even, "even, or heads be")


@dataclass(frozen=True)
class SequenceOptions(TextOptions):
    """Options of turning texts into sequences, beside `TextOptions`.

    unit: what is tagged: "char", the characters of the text, whatever the tokens are, or "token".
    Of tokens `bigrams` and `bigram_min_freq` say nothing; of characters `word_min_freq` and
    `lower_case`.
    lower_case: look words up in lower case. Their spelling and case features keep it.
    """

    block: ClassVar[str] = "sequence"
    fixed: ClassVar[Sequence[str]] = (*TextOptions.fixed, "unit", "lower_case")

    unit: Unit = "char"
    lower_case: bool = True
    normalise_numbers: bool = True
