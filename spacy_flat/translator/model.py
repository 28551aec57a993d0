"""The registered architecture `spacy-flat.Seq2Seq.v1`: pairs → batches → torch → scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from thinc.api import Model

from ..nn.model import shim_of
from ..text.units import Ints
from .batch import PairBatch, like_lengths
from .decoding import Decoding, Hypothesis, Source, decode
from .options import Seq2SeqOptions, TranslationOptions
from .vocabulary import PairFeaturiser

if TYPE_CHECKING:
    from torch import Tensor

    from .network import Seq2Seq


class Pair(NamedTuple):
    """A text and its translation as numbers, with their marks."""

    source: Ints
    target: Ints


@dataclass(frozen=True)
class BatchScores:
    """Scores [M, K] of each key to be the next one of the targets of some pairs."""

    batch: PairBatch
    scores: "Tensor"


@dataclass(frozen=True)
class Predictions:
    """What a model says of the targets of some pairs; each batch is computed when its turn comes.

    n_predicted: numbers that are predicted, with an end mark for each target.
    """

    batches: Iterator[BatchScores]
    n_predicted: int


Seq2SeqModel = Model[list[Pair], Predictions]


def build_seq2seq(network: Seq2SeqOptions, text: TranslationOptions) -> Seq2SeqModel:
    """Build an encoder–decoder Transformer (Vaswani et al., 2017), without a network as yet.

    network, text: options; see there.
    """
    from ..nn.model import make_model
    from .network import Seq2Seq

    build = partial(Seq2Seq.from_config, network)
    return make_model("seq2seq", predict, network, PairFeaturiser.empty(text), build)


def initialise(model: Seq2SeqModel, featuriser: PairFeaturiser) -> None:
    """Build the network for what the training pairs taught."""
    model.attrs["featuriser"] = featuriser
    shim_of(model).initialise(
        {"options": model.attrs["options"].fixed(), "sizes": featuriser.sizes}
    )


def predict(model: Seq2SeqModel, pairs: list[Pair]) -> Predictions:
    """Each batch is computed when its turn comes, so that only one is in memory."""

    def scores() -> Iterator[BatchScores]:
        for batch in batches(pairs, encoder_of(model).options.batch_size):
            with shim_of(model).predicting() as network:
                found = network(batch)
            yield BatchScores(batch, found)

    return Predictions(scores(), sum(len(pair.target) - 1 for pair in pairs))


def batches(pairs: Sequence[Pair], batch_size: int) -> Iterator[PairBatch]:
    """Batches of pairs of similar lengths."""
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    lengths = np.array([[len(s), len(t)] for s, t in pairs], dtype=np.int64).reshape(-1, 2)
    for rows in like_lengths(lengths, batch_size):
        yield PairBatch.of(rows, sources, targets)


def encoder_of(model: Seq2SeqModel) -> PairFeaturiser:
    return cast("PairFeaturiser", model.attrs["featuriser"])


def network_of(model: Seq2SeqModel) -> "Seq2Seq":
    return cast("Seq2Seq", shim_of(model).module)


def write(model: Seq2SeqModel, sources: Sequence[Source], how: Decoding) -> list[list[Hypothesis]]:
    """Translations of each sentence, the best first."""
    options = encoder_of(model).options
    found: list[list[Hypothesis]] = [[] for _ in sources]
    with shim_of(model).predicting():
        network = network_of(model)
        batches = decode(network, sources, how, options.placeholders, options.batch_size)
        for number, hypotheses in batches:
            found[number] = hypotheses
    return found


def log_probs(model: Seq2SeqModel, pairs: Sequence[Pair]) -> list[float]:
    """ln P of each target, with its end, given its source."""
    found = np.zeros(len(pairs))
    network = network_of(model)
    for part in model.predict(list(pairs)).batches:
        own = network.log_probs(part.scores, part.batch.targets).cpu().double().numpy()
        counts = part.batch.inputs.present.sum(axis=1)
        found[part.batch.rows] = np.add.reduceat(own, np.cumsum(counts) - counts)
    return [float(each) for each in found]
