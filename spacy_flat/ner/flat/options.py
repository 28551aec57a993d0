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
        "how to combine the four distances of a pair into one encoding: a linear map with a ReLU, "
        "of all four (ff, as in the paper) or of two of them (ff_two, as in the released code)",
        fixed=True,
    )
    residual: bool = option(
        True,
        "add a sublayer's input to its output, as in the paper but not in the released code",
        fixed=True,
    )
    word_features: Sequence[WordFeature] = option(
        ("type", "length", "frequency"), "features of a word, besides its vector", fixed=True
    )
    lattice_dropout: float = option(0.5, "dropout of the embeddings of words", min=0, below=1)
    word_dropout: float = option(0.01, "share of words read as unknown in training", min=0, below=1)


@dataclass(frozen=True)
class LatticeOptions(SegmentOptions, UnitOptions):
    """Options of turning texts into lattices."""

    block: ClassVar[str] = "flat_ner, model.lattice"

    only_known_words: bool = option(
        False,
        "exclude words without a trained or pretrained vector from the lattice, except those whose "
        "type is a label (with a gazetteer_rate above 0)",
    )
    gazetteer_rate: float = option(
        0.3,
        "share of the training entities to add to the lattice during training, as words with their "
        "labels as types, so that the network learns to use typed words added to the lexicon later",
        min=0,
        max=1,
    )
    gazetteer_noise: float = option(
        0.0,
        "share of the other words that get a label as type during training, as in real word lists; "
        "if above 0, some names also get another type or none, so that a type is only a hint",
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
