"""Options of RE2: blocks of the config, registered under `@misc`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..text.options import UnitOptions
from ..text.spans import Unit
from ..util.options import Options, option, options_factory


@dataclass(frozen=True)
class RE2Options(Options):
    """Options of RE2, in the terms of Yang et al. (2019). Later, only dropouts can be changed."""

    block: ClassVar[str] = "re2_similarity, model.network"
    retired: ClassVar[dict[str, float]] = {"key_dropout": 0.0}

    objective: Literal["classes", "score"] = option(
        "classes",
        "what to predict: one of two or more classes, or a score by regression",
        fixed=True,
    )
    blocks: int = option(2, "blocks of encoder, alignment and fusion", min=1, fixed=True)
    hidden: int = option(150, "width of encoders, fusions and prediction", min=1, fixed=True)
    encoder_layers: int = option(2, "convolutions in an encoder", min=1, fixed=True)
    dropout: float = option(0.2, "dropout before convolutions and linear layers", min=0, below=1)
    embed_dropout: float = option(0.2, "dropout of the embeddings", min=0, below=1)


@dataclass(frozen=True)
class PairTextOptions(UnitOptions):
    """Options of reading the texts.

    Options of characters and bigrams have no effect with inputs = "tokens"; `lower_case` and
    `word_min_freq` have none with inputs = "chars".
    """

    block: ClassVar[str] = "re2_similarity, model.text"

    embed_width: int = option(
        50,
        "width of the vectors if none are pretrained; 0 for a tok2vec's alone",
        min=0,
        fixed=True,
    )
    normalise_embeddings: bool = option(
        False, "scale pretrained vectors to unit length", fixed=True
    )
    equal: bool = option(
        True,
        "texts are the same if they differ only in spaces beside Chinese, width, case, final "
        "punctuation, surrounding quotation marks or traditional characters",
    )
    inputs: Literal["chars", "tokens"] = option(
        "chars", "what to compare: characters, whatever the tokens are, or tokens", fixed=True
    )
    lower_case: bool = option(True, "look up words in lower case", fixed=True)
    batch_size: int = option(4000, "units of both texts in a batch, with padding", min=1)

    @property
    def unit(self) -> Unit:
        return "token" if self.inputs == "tokens" else "char"


re2_options = options_factory(
    RE2Options, "objective", "blocks", "hidden", "dropout", "embed_dropout"
)
pair_text_options = options_factory(
    PairTextOptions, "inputs", "lower_case", "min_freq", "fine_tune", "batch_size", "equal"
)
