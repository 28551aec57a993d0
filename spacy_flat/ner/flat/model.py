"""The registered architecture `spacy-flat.FLAT.v1`: Docs → lattice → torch → emissions."""

from typing import Any

from spacy.tokens import Doc

from ..model import TaggingModel, Tok2Vec, initialise_network, make_model
from .lattice import N_BANDS, LatticeEncoder
from .options import FLATOptions, LatticeOptions
from .vocabulary import Resources, Vocabulary

N_LENGTHS = 10  # words of this many characters less one, and longer, are one class


def build_flat_model(
    network: FLATOptions, lattice: LatticeOptions, tok2vec: Tok2Vec | None = None
) -> TaggingModel:
    """Build the flat-lattice Transformer (Li et al., ACL 2020).

    network, lattice: options; see there.
    tok2vec: its vector of a token joins the vectors of the token's characters.
    """
    from .network import FLAT

    encoder = LatticeEncoder.empty(lattice)
    return make_model("flat", network, encoder, tok2vec, FLAT.from_config, initialise)


def initialise(
    model: TaggingModel, X: list[Doc] | None = None, Y: Resources | None = None
) -> TaggingModel:
    """Build the network for training texts X and resources Y; nothing to do without them."""
    if X is None or Y is None:
        return model
    options = model.attrs["encoder"].options
    vocabulary = Vocabulary.build(options, Y, [doc.text for doc in X])
    encoder = vocabulary.encoder
    sizes: dict[str, Any] = {
        "n_types": max(1, encoder.n_types),
        "n_lengths": N_LENGTHS,
        "n_bands": N_BANDS,
    }
    return initialise_network(model, X, Y.labels, encoder, vocabulary.columns, sizes)
