"""The registered architecture `spacy-flat.FLAT.v1`: Docs → lattice → torch → emissions."""

from functools import partial

from ...text.tok2vec import Tok2Vec, ask_for
from ..model import TaggingModel, predict
from .lattice import LatticeFeaturiser
from .options import FLATOptions, LatticeOptions


def build_flat_model(
    network: FLATOptions, lattice: LatticeOptions, tok2vec: Tok2Vec | None = None
) -> TaggingModel:
    """Build the flat-lattice Transformer (Li et al., ACL 2020). `initialize` adds the network.

    network, lattice: options; see there.
    tok2vec: its vector of a character, or of the token that it is in, joins the character's own.
    """
    from ...nn.model import make_model
    from .network import FLAT

    featuriser = LatticeFeaturiser.empty(lattice)
    build = partial(FLAT.from_config, network)
    ask_for(featuriser.unit, tok2vec)
    return make_model("flat", predict, network, featuriser, build, tok2vec)
