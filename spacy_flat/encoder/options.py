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
        "longest piece of text, in characters, that is read at once; longer texts are split",
        least=1,
    )
    overlap: int = option(
        40,
        "characters that two pieces share where a text is split within a sentence, so that "
        "those near the split have context; at most half of max_length",
        least=0,
    )
    fine_tune: bool = option(True, "train the encoder with the component; false freezes it")
    frozen_steps: int = option(
        0, "steps at the start of training during which the encoder stays frozen", least=0
    )
    warmup_steps: int = option(
        0, "steps after these over which its learning rate rises to the full rate", least=0
    )
    layers: int = option(1, "take the last so many layers", least=1, fixed=True)
    combine: Combine = option("mean", "how several layers become one vector", fixed=True)
    dropout: float = option(
        0.1, "dropout in the encoder while it is trained with the component", least=0, below=1
    )
    batch_size: int = option(
        8000, "characters, with padding, that are computed at once in prediction", least=1
    )


@dataclass(frozen=True)
class PretrainOptions(Options):
    """Options of pretraining.

    Raises ValueError (F341) for a value of another kind, a number out of its bounds, and a width
    that is no multiple of the heads.
    """

    objective: Objective = option("lm", "what to learn")
    width: int = option(0, "width of the layers; 0: 192, and 320 of each LSTM", least=0)
    layers: int = option(0, "layers; 0: 3, and 1 of LSTMs", least=0)
    num_heads: int = option(6, "heads of a Transformer's attention", least=1)
    ff: int = option(4, "the feed-forward layers are so many times as wide", least=1)
    generator_layers: int = option(1, "layers of ELECTRA's generator", least=1)
    samples: int = option(
        500,
        "characters of which a language model tells the next one apart in training; 0: all",
        least=0,
    )
    length: int = option(128, "characters that are read at once, with two marks", least=8)
    batch: int = option(16, "such blocks a step", least=1)
    masked: float = option(0.15, "share of characters that are masked", least=0.01, most=0.9)
    dropout: float = option(0.0, "dropout", least=0, below=1)
    learn_rate: float = option(0.001, "the highest learning rate", least=0)
    warmup: float = option(0.03, "share of the budget in which the rate rises", least=0, below=1)
    weight_decay: float = option(0.01, "decoupled weight decay", least=0)
    vocabulary: int = option(8000, "most characters of the vocabulary", least=1)
    min_count: int = option(5, "rarer characters are unknown", least=1)
    save_every: int = option(500, "steps from one checkpoint to the next", least=1)
    precision: Precision = option(
        "auto", "of products of matrices; auto: bfloat16 on a GPU, float32 on a CPU"
    )
    seed: int = option(1, "of all random numbers", least=0, most=LARGEST_SEED)

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
    """What a training may cost: hours, or steps; the other one is 0.

    Raises ValueError (F341) for what is no number of 0 or more, (F380) where both are given, or
    neither.
    """

    hours: float = option(0.0, "how long it may take", least=0)
    steps: int = option(0, "how many steps it may make", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.hours > 0) == (self.steps > 0):
            raise ValueError(Errors.F380.format(hours=self.hours, steps=self.steps))

    def spent(self, seconds: float, steps: int) -> float:
        """The share that is spent, up to 1."""
        share = steps / self.steps if self.steps else seconds / (3600 * self.hours)
        return min(1.0, share)
