"""What a user may set of FLAT: blocks of the config, registered under `@misc`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...options import check
from ...text.options import TextOptions
from ..options import NetworkOptions

Fusion = Literal["ff", "ff_linear", "ff_two", "attn", "gate"]
Mask = Literal["none", "self_matched", "distant"]
WordFeature = Literal["type", "length", "frequency"]


@dataclass(frozen=True)
class FLATOptions(NetworkOptions):
    """Options of the FLAT network, in the terms of Li et al. (ACL 2020), beside `NetworkOptions`.

    fusion: how the four distances of a pair become one encoding; see `FourDistances`.
    share_fusion: one fusion for all layers.
    q_proj, v_proj, r_proj: projections of queries, values, relative encodings.
    attn_ff: project the output of the attention.
    residual: add a sublayer's input to its output (the paper) or not (the released code).
    mask: "self_matched" and "distant" are the ablations FLAT_msm and FLAT_mld.
    absolute_positions: also add encodings of head and tail to the nodes.
    learnable_positions: train the encodings of distances. pos_norm: scale them to unit length.
    word_features: what a word's node says beside its vector.
    lattice_dropout: of embeddings of words. word_dropout: share of words made unknown in training.

    Raises ValueError (F305) also for repeated word features.
    """

    fusion: Fusion = "ff_two"
    share_fusion: bool = True
    q_proj: bool = True
    v_proj: bool = True
    r_proj: bool = True
    attn_ff: bool = False
    residual: bool = True
    mask: Mask = "none"
    absolute_positions: bool = False
    learnable_positions: bool = False
    pos_norm: bool = False
    word_features: Sequence[WordFeature] = ("type", "length", "frequency")
    lattice_dropout: float = 0.5
    word_dropout: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        features = self.word_features
        distinct = len(set(features)) == len(features)
        check("network", "word_features", features, distinct, "without repetitions")


@dataclass(frozen=True)
class LatticeOptions(TextOptions):
    """Options of turning texts into lattices, beside `TextOptions`.

    only_known_words: leave words out of the lattice that have neither a trained nor a pretrained
        vector, but for those whose type is a label (with a gazetteer_rate above 0).
    gazetteer_rate: share of the training corpus's entities that stand in the lattice at a time in
        training, their labels as their types, as if they had been added to the lexicon; so that
        the network trusts words that are added later with such types.

    Raises ValueError (F305) also for a gazetteer_rate outside 0 to 1.
    """

    block: ClassVar[str] = "lattice"

    only_known_words: bool = False
    gazetteer_rate: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = self.gazetteer_rate
        check("lattice", "gazetteer_rate", rate, 0 <= rate <= 1, "from 0 to 1")
