"""Options of an encoder in a pipeline, and of its pretraining."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..errors import Errors
from ..text.options import SegmentOptions
from ..util.options import Options, option
from .recipes import RECIPES, Objective, Recipe

Combine = Literal["mean", "concat"]
Precision = Literal["auto", "float32", "bfloat16"]
LARGEST_SEED = 2**64 - 1  # that torch takes


@dataclass(frozen=True)
class EncoderOptions(SegmentOptions):
    """Options of an encoder that a component uses."""

    block: ClassVar[str] = "spacy-flat.Encoder.v2"

    max_length: int = option(
        126,
        "the longest text that is read at once, in characters (or pieces of a subword tokenizer); "
        "longer texts are split",
        least=1,
    )
    overlap: int = option(
        40,
        "characters (or pieces) that two parts share if a text is split within a sentence, as "
        "context for those near the split; at most half of max_length",
        least=0,
    )
    fine_tune: bool = option(True, "train the encoder with the component; false freezes it")
    frozen_steps: int = option(
        0, "steps at the start of training in which the encoder stays frozen", least=0
    )
    warmup_steps: int = option(
        0, "steps after that in which its learning rate rises to the full rate", least=0
    )
    remember: int = option(
        0,
        "cache for the vectors of a frozen encoder in training, in megabytes per process; cached "
        "texts are encoded only once, not in every epoch",
        least=0,
    )
    layers: int = option(1, "number of last layers to use", least=1, fixed=True)
    combine: Combine = option("mean", "how to combine several layers into a vector", fixed=True)
    dropout: float = option(
        0.1, "dropout in the encoder while it is trained with the component", least=0, below=1
    )
    batch_size: int = option(
        8000, "characters (or pieces) in a batch, with padding, in prediction", least=1
    )


@dataclass(frozen=True)
class PretrainOptions(Options):
    """Options of pretraining.

    Raises ValueError (F341) for a value of another type, a number out of its bounds, and a width
    that isn't a multiple of the heads.
    """

    objective: Objective = option("lm", "what to learn")
    width: int = option(0, "width of the layers; 0: 192, or 320 for each LSTM", least=0)
    layers: int = option(0, "number of layers; 0: 3, or 1 for LSTMs", least=0)
    num_heads: int = option(6, "attention heads of a Transformer", least=1)
    ff: int = option(4, "the feed-forward layer is this many times as wide", least=1)
    generator_layers: int = option(1, "layers of ELECTRA's generator", least=1)
    samples: int = option(
        500,
        "characters among which a language model predicts the next one in training; 0: all",
        least=0,
    )
    length: int = option(128, "characters to read at once, including two marks", least=8)
    batch: int = option(16, "blocks of this length per step", least=1)
    masked: float = option(0.15, "share of masked characters", least=0.01, most=0.9)
    dropout: float = option(0.0, "dropout", least=0, below=1)
    learn_rate: float = option(0.001, "highest learning rate", least=0)
    warmup: float = option(
        0.03, "share of the budget in which the learning rate rises", least=0, below=1
    )
    weight_decay: float = option(0.01, "decoupled weight decay", least=0)
    vocabulary: int = option(8000, "maximum number of known characters", least=1)
    min_count: int = option(5, "minimum occurrences of a known character", least=1)
    save_every: int = option(500, "steps between checkpoints", least=1)
    precision: Precision = option(
        "auto", "precision of matrix products; auto: bfloat16 on a GPU, float32 on a CPU"
    )
    seed: int = option(1, "random seed", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self.recipe.network == "lstm" or not self.sizes()[0] % self.num_heads
        self.require("width", fits, f"a multiple of the {self.num_heads} heads")

    @property
    def recipe(self) -> Recipe:
        return RECIPES[self.objective]

    def sizes(self) -> tuple[int, int]:
        """Width and layers."""
        return self.width or self.recipe.width, self.layers or self.recipe.layers


@dataclass(frozen=True)
class Budget(Options):
    """The budget of pretraining: hours or steps; the other one is 0.

    Raises ValueError (F341) for anything but a number of 0 or more, and (F380) if both or neither
    are given.
    """

    hours: float = option(0.0, "maximum time", least=0)
    steps: int = option(0, "maximum number of steps", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.hours > 0) == (self.steps > 0):
            raise ValueError(Errors.F380.format(hours=self.hours, steps=self.steps))

    def spent(self, seconds: float, steps: int) -> float:
        """The share of the budget that is spent, up to 1."""
        share = steps / self.steps if self.steps else seconds / (3600 * self.hours)
        return min(1.0, share)
