"""The registered architecture `spacy-flat.Seq2Seq.v1`: pairs → batches → torch → scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from thinc.api import Model

from ..nn.model import shim_of
from ..util.arrays import Ints
from .batch import TranslationBatch, similar_lengths
from .decoding import BeamSearch, Hypothesis, Source, decode
from .featuriser import TranslationFeaturiser
from .options import Seq2SeqOptions, TranslationOptions

if TYPE_CHECKING:
    from torch import Tensor

    from .network import Seq2Seq


class IdPair(NamedTuple):
    """A text and its translation as ids, with marks."""

    source: Ints
    target: Ints


@dataclass(frozen=True)
class BatchScores:
    """Scores [M, V] of each id to come next in the targets of some pairs."""

    batch: TranslationBatch
    scores: "Tensor"


@dataclass(frozen=True)
class TranslationPredictions:
    """Predictions for the targets of some pairs, computed batch by batch, once.

    n_predicted: predicted ids, with an end mark for each target.
    """

    batches: Iterator[BatchScores]
    n_predicted: int


Seq2SeqModel = Model[list[IdPair], TranslationPredictions]


def build_seq2seq(network: Seq2SeqOptions, text: TranslationOptions) -> Seq2SeqModel:
    """Build an encoder–decoder Transformer (Vaswani et al., 2017). `initialise` builds the network.

    network, text: see the options.
    """
    from ..nn.model import make_model
    from .network import Seq2Seq

    build = partial(Seq2Seq.from_config, network)
    return make_model("seq2seq", predict, network, TranslationFeaturiser.empty(text), build)


def initialise(model: Seq2SeqModel, featuriser: TranslationFeaturiser) -> None:
    """Build the network for this vocabulary."""
    model.attrs["featuriser"] = featuriser
    config = {"options": model.attrs["options"].fixed(), "sizes": featuriser.sizes}
    shim_of(model).initialise(config)


def predict(model: Seq2SeqModel, pairs: list[IdPair]) -> TranslationPredictions:
    """Compute batches lazily, so that only one is in memory."""

    def scores() -> Iterator[BatchScores]:
        for batch in batches(pairs, featuriser_of(model).options.batch_size):
            with shim_of(model).predicting() as network:
                found = network(batch)
            yield BatchScores(batch, found)

    return TranslationPredictions(scores(), sum(len(pair.target) - 1 for pair in pairs))


def batches(pairs: Sequence[IdPair], batch_size: int) -> Iterator[TranslationBatch]:
    """Batches of pairs of similar lengths."""
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    sizes = [[len(pair.source), len(pair.target)] for pair in pairs]
    lengths = np.array(sizes, dtype=np.int64).reshape(-1, 2)
    for rows in similar_lengths(lengths, batch_size):
        yield TranslationBatch.of(rows, sources, targets)


def featuriser_of(model: Seq2SeqModel) -> TranslationFeaturiser:
    return cast("TranslationFeaturiser", model.attrs["featuriser"])


def network_of(model: Seq2SeqModel) -> "Seq2Seq":
    return cast("Seq2Seq", shim_of(model).module)


def generate(
    model: Seq2SeqModel, sources: Sequence[Source], how: BeamSearch
) -> list[list[Hypothesis]]:
    """Translate sentences, best hypotheses first."""
    options = featuriser_of(model).options
    found: list[list[Hypothesis]] = [[] for _ in sources]
    with shim_of(model).predicting():
        decoded = decode(network_of(model), sources, how, options.placeholders, options.batch_size)
        for number, hypotheses in decoded:
            found[number] = hypotheses
    return found


def log_probs(model: Seq2SeqModel, pairs: Sequence[IdPair]) -> list[float]:
    """ln P of each target, with its end, given its source."""
    found = np.zeros(len(pairs))
    network = network_of(model)
    for part in model.predict(list(pairs)).batches:
        own = network.log_probs(part.scores, part.batch.targets).cpu().double().numpy()
        counts = part.batch.inputs.present.sum(axis=1)
        found[part.batch.rows] = np.add.reduceat(own, np.cumsum(counts) - counts)
    return [float(each) for each in found]
