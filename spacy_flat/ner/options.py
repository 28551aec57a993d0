"""Options of the networks of all entity recognisers."""

from dataclasses import dataclass

from ..util.options import Options, option


@dataclass(frozen=True)
class NetworkOptions(Options):
    """Options that the networks share. Those that aren't fixed only affect training, so they can be
    changed before further training."""

    transitions: bool = option(
        True,
        "learn transitions between tags, as a CRF; otherwise choose the best legal sequence by "
        "single scores",
        fixed=True,
    )
    layers: int = option(1, "layers of attention and feed-forward", min=1, fixed=True)
    num_heads: int = option(
        8, "attention heads; the width is num_heads × head_dim", min=1, fixed=True
    )
    head_dim: int = option(16, "width of a head", min=1, fixed=True)
    ff: int = option(
        3, "width of the feed-forward layers, as a multiple of the network's", min=1, fixed=True
    )
    k_proj: bool = option(False, "project the attention's keys", fixed=True)
    scaled: bool = option(False, "divide attention scores by √head_dim", fixed=True)
    embed_dropout: float = option(0.5, "dropout of all embeddings", min=0, below=1)
    output_dropout: float = option(0.3, "dropout before the last layer", min=0, below=1)
    ff_dropout: float = option(0.15, "dropout in feed-forward layers", min=0, below=1)
    key_dropout: float = option(
        0.01, "share of characters, bigrams and words read as unknown in training", min=0, below=1
    )
    r_drop: float = option(
        0.0,
        "weight of R-Drop (α of Liang et al., 2021): compute each training batch twice with "
        "different dropouts and add their divergence to the loss",
        min=0,
    )
