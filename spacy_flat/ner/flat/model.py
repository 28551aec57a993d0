"""The registered architecture `spacy-flat.FLAT.v1`: Docs → lattice → torch → emissions."""

from functools import partial

from ...nn.shim import make_model
from ...text.tok2vec import Tok2Vec
from ..emissions import TaggingModel, predict
from .featuriser import LatticeFeaturiser
from .network import FLAT
from .options import FLATOptions, LatticeOptions


def build_flat_model(
    network: FLATOptions, lattice: LatticeOptions, tok2vec: Tok2Vec | None = None
) -> TaggingModel:
    """Build the flat-lattice Transformer (Li et al., ACL 2020). `initialize` adds the network.

    network, lattice: see the options.
    tok2vec: its vector of a character, or of its token, joins the character's embedding.
    """
    build = partial(FLAT.from_config, network)
    return make_model("flat", predict, network, LatticeFeaturiser(lattice), build, tok2vec)
