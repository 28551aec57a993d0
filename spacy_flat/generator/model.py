"""The registered architecture `spacy-flat.CharLM.v1`: Docs → batches → torch → scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from typing import TYPE_CHECKING, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..initialise import initialise_network
from ..nn.model import shim_of
from ..text.vocabulary import Vocabulary
from ..util.arrays import Float32s
from .batch import Piece
from .featuriser import UNKNOWN, CharFeaturiser
from .ngrams import count_ngrams
from .options import CharLMOptions, TextOptions

if TYPE_CHECKING:
    from torch import Tensor

    from .network import CharLM, NGramTable
    from .proofreading import Suspicious


@dataclass(frozen=True)
class PieceScores:
    """Scores [M, K] of each key to come next in a piece of some texts."""

    piece: Piece
    scores: "Tensor"


@dataclass(frozen=True)
class CharPredictions:
    """Predictions for some texts, computed piece by piece, once."""

    texts: list[str]
    pieces: Iterator[PieceScores]

    @property
    def n_predicted(self) -> int:
        """Predicted characters, with an end mark for each text."""
        return sum(len(text) + 1 for text in self.texts)


CharLMModel = Model[list[Doc], CharPredictions]


def build_char_lm(network: CharLMOptions, text: TextOptions) -> CharLMModel:
    """Build a character language model with LSTM or GRU layers (Mikolov et al., 2010; Merity et
    al., 2018). `initialise` builds the network.

    network, text: see the options.
    """
    from ..nn.model import make_model
    from .network import CharLM

    build = partial(CharLM.from_config, network)
    return make_model("char_lm", predict, network, CharFeaturiser.empty(text), build)


def initialise(model: CharLMModel, docs: list[Doc], vocabulary: Vocabulary, name: str) -> None:
    """Build the network for the vocabulary of the training Docs, and count their n-grams."""
    featuriser: CharFeaturiser = vocabulary.featuriser
    most, sizes = model.attrs["options"].ngrams, {"start": featuriser.marks[0]}
    if not most:
        initialise_network(model, docs, vocabulary, sizes, name)
        return
    keys = [featuriser.keys(doc.text) for doc in docs]
    ngrams = count_ngrams(keys, len(featuriser.strings), featuriser.marks, most)
    initialise_network(model, docs, vocabulary, {**sizes, "ngrams": ngrams.sizes}, name)
    cast("NGramTable", network_of(model).ngrams).fill(ngrams)


def predict(model: CharLMModel, docs: list[Doc]) -> CharPredictions:
    """Compute pieces lazily, so that only one is in memory."""
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    texts = [doc.text for doc in docs]

    def pieces() -> Iterator[PieceScores]:
        for batch in featuriser.batches(texts):
            state = None
            for piece in featuriser.pieces(batch):
                with shim_of(model).predicting() as network:
                    scores, state = network(piece, state)
                yield PieceScores(piece, scores)

    return CharPredictions(texts, pieces())


def network_of(model: CharLMModel) -> "CharLM":
    return cast("CharLM", shim_of(model).module)


@dataclass(frozen=True)
class TextScore:
    """The scores of a text.

    surprisals: [C + 1] −ln P of each character given those before it, and of the end of the text.
    n_unknown: its unknown characters.
    suspicious: characters that may be wrong; None if they were not looked for.
    """

    surprisals: Float32s
    n_unknown: int
    suspicious: "list[Suspicious] | None" = None


def score_texts(model: CharLMModel, docs: Sequence[Doc]) -> list[TextScore]:
    """Score the texts of some Docs."""
    predictions = model.predict(list(docs))
    network = network_of(model)
    # Texts follow one another, each between two marks, as in a batch.
    starts = np.cumsum([0, *(len(text) + 2 for text in predictions.texts)])
    surprisals = np.zeros(starts[-1], dtype=np.float32)
    is_unknown = np.zeros(starts[-1], dtype=np.bool_)
    for part in predictions.pieces:
        found = network.surprisals(part.scores, part.piece.targets)
        surprisals[part.piece.places] = found.cpu().numpy()
        is_unknown[part.piece.places] = part.piece.targets == UNKNOWN
    return [
        TextScore(
            _with_ngrams(model, text, surprisals[start + 1 : end].copy()),
            int(is_unknown[start:end].sum()),
        )
        for text, start, end in zip(
            predictions.texts, starts[:-1].tolist(), starts[1:].tolist(), strict=True
        )
    ]


def _with_ngrams(model: CharLMModel, text: str, surprisals: Float32s) -> Float32s:
    """[C + 1] the network's surprisals for a text and its end, mixed with those of n-grams."""
    table = network_of(model).ngrams
    if table is None:
        return surprisals
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    keys = np.append(featuriser.keys(text), featuriser.marks[1])
    mixed = log(2) - np.logaddexp(-surprisals, -table.unpacked.surprisals(keys))
    return mixed.astype(np.float32)
