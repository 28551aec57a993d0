"""The registered architecture `spacy-flat.TENER.v1`: Docs → sequences → torch → emissions."""

from spacy.tokens import Doc

from ...text.units import Units
from ..model import TaggingModel, Tok2Vec, initialise_network, make_model
from .options import SequenceOptions, TENEROptions
from .sequence import SequenceEncoder
from .vocabulary import Resources, Vocabulary


def build_tener_model(
    network: TENEROptions, sequence: SequenceOptions, tok2vec: Tok2Vec | None = None
) -> TaggingModel:
    """Build TENER, a Transformer with direction-aware relative attention (Yan et al., 2019).

    network, sequence: options; see there.
    tok2vec: its vector of a token joins the vectors of the token's characters, or of the token.
    """
    from .network import TENER

    encoder = SequenceEncoder.empty(sequence)
    return make_model("tener", network, encoder, tok2vec, TENER.from_config, initialise)


def initialise(
    model: TaggingModel, X: list[Doc] | None = None, Y: Resources | None = None
) -> TaggingModel:
    """Build the network for training Docs X and resources Y; nothing to do without them."""
    if X is None or Y is None:
        return model
    options = model.attrs["encoder"].options
    vocabulary = Vocabulary.build(options, Y, [Units.of(doc, options.unit) for doc in X])
    encoder = vocabulary.encoder
    sizes = {"n_spelling": len(encoder.chars) if options.unit == "token" else 0}
    return initialise_network(model, X, Y.labels, encoder, vocabulary.columns, sizes)
