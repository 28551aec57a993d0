"""What a user may set of the models: blocks of the config, registered under `@misc`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import Errors
from .tags import Scheme

Fusion = Literal["ff", "ff_linear", "ff_two", "attn", "gate"]
Activation = Literal["relu", "leaky_relu", "gelu"]
Mask = Literal["none", "self_matched", "distant"]
WordFeature = Literal["type", "length", "frequency"]


@dataclass(frozen=True)
class FLATOptions:
    """Options of the FLAT network, in the terms of Li et al. (ACL 2020).

    scheme: tags of the CRF.
    layers, heads, head_dim: the width is heads × head_dim. ff: the feed-forward layer is this many
        times as wide.
    fusion: how the four distances of a pair become one encoding; see `FourDistances`.
    share_fusion: one fusion for all layers.
    q_proj, k_proj, v_proj, r_proj: projections of queries, keys, values, relative encodings.
    scaled: divide scores by √head_dim. attn_ff: project the output of the attention.
    residual: add a sublayer's input to its output (the paper) or not (the released code).
    mask: "self_matched" and "distant" are the ablations FLAT_msm and FLAT_mld.
    absolute_positions: also add encodings of head and tail to the nodes.
    learnable_positions: train the encodings of distances. pos_norm: scale them to unit length.
    word_features: what a word's node says beside its vector.
    *_dropout: of embeddings of characters (embed) and words (lattice), before the last layer
        (output), in the feed-forward layers (ff) and of attention weights (attn).
    key_dropout: share of characters and bigrams made unknown in training; word_dropout: of words.

    Raises ValueError (F305) for sizes below 1, dropouts outside [0, 1) and repeated word features.
    """

    scheme: Scheme = "BIOES"
    layers: int = 1
    heads: int = 8
    head_dim: int = 16
    ff: int = 3
    ff_activate: Activation = "relu"
    fusion: Fusion = "ff_two"
    share_fusion: bool = True
    q_proj: bool = True
    k_proj: bool = False
    v_proj: bool = True
    r_proj: bool = True
    scaled: bool = False
    attn_ff: bool = False
    residual: bool = True
    mask: Mask = "none"
    absolute_positions: bool = False
    learnable_positions: bool = False
    pos_norm: bool = False
    word_features: Sequence[WordFeature] = ("type", "length", "frequency")
    embed_dropout: float = 0.5
    lattice_dropout: float = 0.5
    output_dropout: float = 0.3
    ff_dropout: float = 0.15
    attn_dropout: float = 0.0
    key_dropout: float = 0.01
    word_dropout: float = 0.01

    def __post_init__(self) -> None:
        _check_sizes("network", self, ("layers", "heads", "head_dim", "ff"))
        for name in ("embed", "lattice", "output", "ff", "attn", "key", "word"):
            rate = getattr(self, f"{name}_dropout")
            _check("network", f"{name}_dropout", rate, 0 <= rate < 1, "from 0 up to below 1")
        features = self.word_features
        _check(
            "network",
            "word_features",
            features,
            len(set(features)) == len(features),
            "without repetitions",
        )


@dataclass(frozen=True)
class LatticeOptions:
    """Options of turning texts into numbers.

    embed_width: width of trained vectors where no pretrained ones are given.
    bigrams: use the bigram of a character and its right neighbour.
    char_min_freq, bigram_min_freq, word_min_freq: occurrences in training from which one has a
        trained vector.
    only_known_words: leave words out of the lattice that have neither a trained nor a pretrained
        vector.
    gazetteer_rate: share of the training corpus's entities that stand in the lattice at a time in
        training, their labels as their types, as if they had been added to the lexicon; so that
        the network trusts words that are added later with such types.
    normalise_numbers: read every digit as 0.
    normalise_embeddings: scale pretrained vectors to unit length.
    float16_vectors: keep pretrained vectors in half precision, which halves their size in memory
        and in the saved pipeline.
    fine_tune: train offsets to pretrained vectors.
    max_length: longest piece of text, in characters, in one attention. Longer texts are cut.
    overlap: characters that two segments share where a text had to be cut by force; at most half
        of max_length.
    batch_nodes: lattice nodes, with padding, that are computed at once.

    Raises ValueError for sizes and frequencies below 1 (F305) and for an overlap outside 0 to
    max_length / 2 (F300).
    """

    embed_width: int = 50
    bigrams: bool = True
    char_min_freq: int = 1
    bigram_min_freq: int = 1
    word_min_freq: int = 1
    only_known_words: bool = False
    gazetteer_rate: float = 0.3
    normalise_numbers: bool = False
    normalise_embeddings: bool = True
    float16_vectors: bool = False
    fine_tune: bool = True
    max_length: int = 200
    overlap: int = 40
    batch_nodes: int = 3000

    def __post_init__(self) -> None:
        _check_sizes(
            "lattice",
            self,
            (
                "embed_width",
                "char_min_freq",
                "bigram_min_freq",
                "word_min_freq",
                "max_length",
                "batch_nodes",
            ),
        )
        rate = self.gazetteer_rate
        _check("lattice", "gazetteer_rate", rate, 0 <= rate <= 1, "from 0 to 1")
        if not 0 <= self.overlap <= self.max_length // 2:
            raise ValueError(Errors.F300.format(overlap=self.overlap, max_length=self.max_length))


def _check_sizes(block: str, options: object, names: Sequence[str]) -> None:
    for name in names:
        value = getattr(options, name)
        _check(block, name, value, value >= 1, "1 or more")


def _check(block: str, name: str, value: object, right: bool, wanted: str) -> None:
    if not right:
        raise ValueError(Errors.F305.format(block=block, name=name, value=value, wanted=wanted))
