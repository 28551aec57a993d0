"""Options of FLAT: blocks of the config, registered under `@misc`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...text.options import SegmentOptions, UnitOptions
from ...util.options import option, options_factory
from ..options import NetworkOptions

Fusion = Literal["ff", "ff_two"]
WordFeature = Literal["type", "length", "frequency"]


@dataclass(frozen=True)
class FLATOptions(NetworkOptions):
    """Options of the FLAT network, in the terms of Li et al. (ACL 2020)."""

    block: ClassVar[str] = "flat_ner, model.network"

    fusion: Fusion = option(
        "ff_two",
        "how a ReLU layer combines the four distances of a pair: all four (`ff`, as in the "
        "paper) or two (`ff_two`, as in the released code)",
        fixed=True,
    )
    residual: bool = option(
        True,
        "add a sublayer's input to its output, as in the paper, not in the released code",
        fixed=True,
    )
    word_features: Sequence[WordFeature] = option(
        ("type", "length", "frequency"), "features of a word, besides its vector", fixed=True
    )
    lattice_dropout: float = option(0.5, "further dropout of words' embeddings", min=0, below=1)
    word_dropout: float = option(0.01, "share of words read as unknown in training", min=0, below=1)


@dataclass(frozen=True)
class LatticeOptions(SegmentOptions, UnitOptions):
    """Options of turning texts into lattices."""

    block: ClassVar[str] = "flat_ner, model.lattice"

    only_known_words: bool = option(
        False,
        "exclude words without a trained or pretrained vector, except (with a gazetteer_rate "
        "above 0) those whose type is a label",
    )
    gazetteer_rate: float = option(
        0.3,
        "share of training entities to add to the lattice as words of that type, so that the "
        "network learns to use typed words",
        min=0,
        max=1,
    )
    gazetteer_noise: float = option(
        0.0,
        "share of other words that get a label as type in training, as in real lists; above 0, "
        "some names also get another type or none",
        min=0,
        max=1,
    )


flat_options = options_factory(
    FLATOptions,
    *("layers", "num_heads", "head_dim"),
    *("embed_dropout", "lattice_dropout", "output_dropout", "r_drop"),
)
lattice_options = options_factory(
    LatticeOptions, "gazetteer_rate", "min_freq", "max_length", "batch_size"
)
