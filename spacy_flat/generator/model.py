"""The registered architecture `spacy-flat.CharLM.v1`: Docs → pieces → torch → scores."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

from spacy.tokens import Doc
from thinc.api import Model

from ..initialise import initialise_network
from ..nn.model import make_model, shim_of
from ..text.vocabulary import Vocabulary
from .batch import Piece
from .featuriser import CharFeaturiser
from .ngrams import count_ngrams
from .options import CharLMOptions, TextOptions

if TYPE_CHECKING:
    from torch import Tensor

    from .network import CharLM, NGramTable

# Pieces of texts, each with the scores [M, K] of each key to come next
Predictions: TypeAlias = "Iterator[tuple[Piece, Tensor]]"
CharLMModel = Model[list[Doc], Predictions]


def build_char_lm(network: CharLMOptions, text: TextOptions) -> CharLMModel:
    """Build a character language model with LSTM or GRU layers (Mikolov et al., 2010; Merity et
    al., 2018). `initialise` builds the network.

    network, text: see the options.
    """
    from .network import CharLM

    build = partial(CharLM.from_config, network)
    return make_model("char_lm", predict, network, CharFeaturiser.empty(text), build)


def initialise(model: CharLMModel, docs: list[Doc], vocabulary: Vocabulary, name: str) -> None:
    """Build the network for the vocabulary of the training Docs, and count their n-grams."""
    featuriser: CharFeaturiser = vocabulary.featuriser
    n_kept, sizes = model.attrs["options"].ngrams, {"start": featuriser.marks[0]}
    if not n_kept:
        initialise_network(model, docs, vocabulary, sizes, name)
        return
    keys = [featuriser.keys(doc.text) for doc in docs]
    ngrams = count_ngrams(keys, len(featuriser.strings), featuriser.marks, n_kept)
    n_of_each = [len(order.codes) for order in ngrams.orders]
    initialise_network(model, docs, vocabulary, {**sizes, "ngrams": n_of_each}, name)
    cast("NGramTable", network_of(model).ngrams).fill(ngrams)


def predict(model: CharLMModel, docs: list[Doc]) -> Predictions:
    """Compute pieces lazily, so that only one is in memory."""
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    state = None
    for piece in featuriser.pieces([doc.text for doc in docs]):
        with shim_of(model).predicting() as network:
            scores, state = network(piece, state)
        yield piece, scores


def network_of(model: CharLMModel) -> "CharLM":
    return cast("CharLM", shim_of(model).module)
