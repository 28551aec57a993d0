"""The registered architecture `spacy-flat.Seq2Seq.v1`: pairs → batches → torch → scores."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from thinc.api import Model

from ..text.initialise import shim_of
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
    return make_model("seq2seq", forward, network, PairFeaturiser.empty(text), build)


def initialise(model: Seq2SeqModel, featuriser: PairFeaturiser) -> None:
    """Build the network for what the training pairs taught."""
    model.attrs["featuriser"] = featuriser
    shim_of(model).initialise(
        {"options": model.attrs["options"].fixed(), "sizes": featuriser.sizes}
    )


def forward(
    model: Seq2SeqModel, pairs: list[Pair], is_train: bool
) -> tuple[Predictions, Callable[[object], list[Any]]]:
    """Only one batch is in memory at a time; in training too, if the loss of each goes backward
    before the next one's turn."""
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]

    def batches() -> Iterator[BatchScores]:
        shim = shim_of(model)
        lengths = np.array([[len(s), len(t)] for s, t in pairs], dtype=np.int64).reshape(-1, 2)
        for rows in like_lengths(lengths, encoder_of(model).options.batch_tokens):
            batch = PairBatch.of(rows, sources, targets)
            with shim.training() if is_train else shim.predicting() as network:
                scores = network(batch)
            yield BatchScores(batch, scores)

    n_predicted = sum(len(target) - 1 for target in targets)
    return Predictions(batches(), n_predicted), lambda _: []


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
        batches = decode(network, sources, how, options.placeholders, options.batch_tokens)
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
