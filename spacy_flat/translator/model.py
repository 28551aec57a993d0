"""The registered architecture `spacy-flat.Seq2Seq.v1`: pairs → batches → torch → scores."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple, cast

from thinc.api import Model
from torch import Tensor

from ..nn.shim import make_model, shim_of
from ..util.arrays import Ints
from .batch import TranslationBatch, similar_lengths
from .decoding import BeamSearch, Hypothesis, Source, search
from .featuriser import TranslationFeaturiser
from .network import Seq2Seq
from .options import Seq2SeqOptions, TranslationOptions


class IdPair(NamedTuple):
    """A text and its translation as ids, with marks."""

    source: Ints
    target: Ints


# Some pairs, and scores [M, V] of each id to come next in their targets
BatchScores = tuple[TranslationBatch, Tensor]
Seq2SeqModel = Model[list[IdPair], Iterator[BatchScores]]


def build_seq2seq(network: Seq2SeqOptions, text: TranslationOptions) -> Seq2SeqModel:
    """Build an encoder–decoder Transformer (Vaswani et al., 2017). `initialise` builds the network.

    network, text: see the options.
    """
    build = partial(Seq2Seq.from_config, network)
    return make_model("seq2seq", predict, network, TranslationFeaturiser(text), build)


def initialise(model: Seq2SeqModel, featuriser: TranslationFeaturiser) -> None:
    model.attrs["featuriser"] = featuriser
    config = {"options": model.attrs["options"].fixed(), "sizes": featuriser.sizes}
    shim_of(model).initialise(config)


def predict(model: Seq2SeqModel, pairs: list[IdPair]) -> Iterator[BatchScores]:
    """Compute batches lazily, so that only one is in memory."""
    for batch in batches(pairs, featuriser_of(model).options.batch_size):
        with shim_of(model).predicting() as network:
            scores = network(batch)
        yield batch, scores


def batches(pairs: Sequence[IdPair], batch_size: int) -> Iterator[TranslationBatch]:
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    for rows in similar_lengths(sides, batch_size):
        yield TranslationBatch.of(*([side[row] for row in rows] for side in sides))


def generate(model: Seq2SeqModel, sources: Sequence[Source], how: BeamSearch) -> list[Hypothesis]:
    options = featuriser_of(model).options
    found: dict[int, Hypothesis] = {}
    with shim_of(model).predicting():
        size = options.batch_size // how.beam  # hypotheses are computed at once
        for rows in similar_lengths([[each.ids for each in sources]], size):
            some = [sources[row] for row in rows]
            own = search(network_of(model), some, how, options.placeholders)
            found.update(zip(rows.tolist(), (best for best, *_ in own), strict=True))
    return [found[row] for row in range(len(sources))]


def featuriser_of(model: Seq2SeqModel) -> TranslationFeaturiser:
    return cast("TranslationFeaturiser", model.attrs["featuriser"])


def network_of(model: Seq2SeqModel) -> Seq2Seq:
    return cast(Seq2Seq, shim_of(model).module)
