"""The registered architecture `spacy-flat.TENER.v1`: Docs → sequences → torch → emissions."""

from collections.abc import Sequence
from functools import partial

from spacy.tokens import Doc

from ...errors import Errors
from ...nn.model import tok2vec_of
from ...text.initialise import initialise_network
from ...text.tok2vec import Tok2Vec, ask_for
from ..model import TaggingModel, predict
from .options import SequenceOptions, TENEROptions
from .sequence import SequenceFeaturiser
from .vocabulary import Vocabulary


def build_tener_model(
    network: TENEROptions, sequence: SequenceOptions, tok2vec: Tok2Vec | None = None
) -> TaggingModel:
    """Build TENER, a Transformer with direction-aware relative attention (Yan et al., 2019),
    without a network as yet.

    network, sequence: options; see there.
    tok2vec: its vector of a unit, or of the token that a character is in, joins the unit's own.
    """
    from ...nn.model import make_model
    from .network import TENER

    featuriser = SequenceFeaturiser.empty(sequence)
    build = partial(TENER.from_config, network)
    ask_for(featuriser.unit, tok2vec)
    return make_model("tener", predict, network, featuriser, build, tok2vec)


def initialise(
    model: TaggingModel, docs: list[Doc], labels: Sequence[str], vocabulary: Vocabulary, name: str
) -> None:
    """Build the network for some labels and what the training Docs taught.

    Raises ValueError (F368) where there is nothing that it could read.
    """
    featuriser, columns = vocabulary
    if not columns and tok2vec_of(model) is None:
        raise ValueError(Errors.F368.format(name=name))
    n_spelling = len(featuriser.chars) if featuriser.unit == "token" else 0
    sizes = {"labels": list(labels), "n_spelling": n_spelling}
    initialise_network(model, docs, featuriser, featuriser.options, columns, sizes, name)
