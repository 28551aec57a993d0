"""Options of turning texts into numbers; each component uses those it needs."""

from dataclasses import dataclass

from ..util.options import Options, option


@dataclass(frozen=True)
class TableOptions(Options):
    """Options of all tables of embeddings."""

    embed_width: int = option(50, "width of the vectors if none are pretrained", min=1, fixed=True)
    normalise_embeddings: bool = option(True, "scale pretrained vectors to unit length", fixed=True)
    fine_tune: bool = option(True, "train offsets to pretrained vectors", fixed=True)


@dataclass(frozen=True)
class UnitOptions(TableOptions):
    """Options of the tables of characters, bigrams and words, and of computing in batches."""

    min_freq: int = option(1, "minimum occurrences in training for a trained vector", min=1)
    word_min_freq: int = option(0, "min_freq of words, if another; 0 for the same", min=0)
    normalise_numbers: bool = option(False, "read every digit as 0", fixed=True)
    bigrams: bool = option(True, "read the bigram of each character and the next", fixed=True)
    batch_size: int = option(3000, "nodes of attention in a batch, with padding", min=1)


@dataclass(frozen=True)
class SegmentOptions(Options):
    """Options of splitting long texts into segments."""

    max_length: int = option(200, "maximum units in one attention; longer texts are split", min=1)
