"""The registered architecture `spacy-flat.TENER.v1`: Docs → sequences → torch → emissions."""

from functools import partial

from ...nn.shim import make_model
from ...text.tok2vec import Tok2Vec
from ..emissions import TaggingModel, predict
from .featuriser import SequenceFeaturiser
from .network import TENER
from .options import SequenceOptions, TENEROptions


def build_tener_model(
    network: TENEROptions, sequence: SequenceOptions, tok2vec: Tok2Vec | None = None
) -> TaggingModel:
    """Build TENER, a Transformer with direction-aware relative attention (Yan et al., 2019).
    `initialize` adds the network.

    network, sequence: see the options.
    tok2vec: its vector of a unit, or of a character's token, joins the unit's embedding.
    """
    build = partial(TENER.from_config, network)
    return make_model("tener", predict, network, SequenceFeaturiser(sequence), build, tok2vec)
