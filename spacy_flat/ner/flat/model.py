"""The registered architecture `spacy-flat.FLAT.v1`: Docs → lattice → torch → emissions."""

from collections.abc import Sequence
from functools import partial

from spacy.tokens import Doc

from ...text.initialise import initialise_network
from ...text.tok2vec import Tok2Vec, ask_for
from ..model import TaggingModel, predict
from .lattice import N_BANDS, LatticeFeaturiser
from .options import FLATOptions, LatticeOptions
from .vocabulary import Vocabulary

N_LENGTHS = 10  # words of this many characters less one, and longer, are one class


def build_flat_model(
    network: FLATOptions, lattice: LatticeOptions, tok2vec: Tok2Vec | None = None
) -> TaggingModel:
    """Build the flat-lattice Transformer (Li et al., ACL 2020), without a network as yet.

    network, lattice: options; see there.
    tok2vec: its vector of a character, or of the token that it is in, joins the character's own.
    """
    from ...nn.model import make_model
    from .network import FLAT

    featuriser = LatticeFeaturiser.empty(lattice)
    build = partial(FLAT.from_config, network)
    ask_for(featuriser.unit, tok2vec)
    return make_model("flat", predict, network, featuriser, build, tok2vec)


def initialise(
    model: TaggingModel, docs: list[Doc], labels: Sequence[str], vocabulary: Vocabulary, name: str
) -> None:
    """Build the network for some labels and what the training Docs taught."""
    featuriser, columns = vocabulary
    sizes = {
        "labels": list(labels),
        "n_types": max(1, featuriser.n_types),
        "n_lengths": N_LENGTHS,
        "n_bands": N_BANDS,
    }
    initialise_network(model, docs, featuriser, featuriser.options, columns, sizes, name)
