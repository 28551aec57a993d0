"""The registered architecture `spacy-flat.Seq2Seq.v1`: pairs → batches → torch → scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from spacy.language import BaseDefaults
from spacy.tokens import Doc
from spacy.vocab import create_vocab
from thinc.api import Model

from ..errors import Errors
from ..nn.model import shim_of, tok2vec_of
from ..text.tok2vec import Tok2Vec, Tok2VecFeatures, listeners
from ..util.arrays import Ints
from .batch import PaddedKeys, TranslationBatch, like_lengths
from .decoding import BeamSearch, Hypothesis, SourceKeys, decode
from .featuriser import SourceText, TranslationFeaturiser
from .options import Seq2SeqOptions, TranslationOptions

if TYPE_CHECKING:
    from torch import Tensor

    from .network import Seq2Seq


class KeyPair(NamedTuple):
    """A text and its translation as numbers, with marks, and the text for a tok2vec."""

    source: Ints
    target: Ints
    text: SourceText


@dataclass(frozen=True)
class BatchScores:
    """Scores [M, K] of each key to come next in the targets of some pairs."""

    batch: TranslationBatch
    scores: "Tensor"


@dataclass(frozen=True)
class TranslationPredictions:
    """Predictions for the targets of some pairs, computed batch by batch, once.

    n_predicted: predicted numbers, with an end mark for each target.
    """

    batches: Iterator[BatchScores]
    n_predicted: int


CHARACTERS = create_vocab("zh", BaseDefaults)  # of the Docs that a tok2vec reads
Seq2SeqModel = Model[list[KeyPair], TranslationPredictions]


def build_seq2seq(
    network: Seq2SeqOptions, text: TranslationOptions, tok2vec: Tok2Vec | None = None
) -> Seq2SeqModel:
    """Build an encoder–decoder Transformer (Vaswani et al., 2017). `initialise` builds the network.

    network, text: see the options.
    tok2vec: its vectors of the characters of each sentence are added to their embeddings.

    Raises ValueError (F408) for a tok2vec with a source of pieces, for one that listens to another
    component, since it wouldn't read sentence by sentence, and for one with the pipeline's vectors.
    """
    from ..nn.model import make_model
    from .network import Seq2Seq

    if tok2vec is not None:
        _check_tok2vec(tok2vec, text)
    build = partial(Seq2Seq.from_config, network)
    featuriser = TranslationFeaturiser.empty(text)
    return make_model("seq2seq", predict, network, featuriser, build, tok2vec)


def _check_tok2vec(tok2vec: Tok2Vec, text: TranslationOptions) -> None:
    reason = ""
    if text.source != "char":
        reason = f'model.text has source = "{text.source}". Set it to "char"'
    elif listeners(tok2vec):
        reason = "this one listens to another component. Use spacy-flat.Encoder.v2, for example"
    elif any(node.name == "static_vectors" for node in tok2vec.walk()):
        reason = "this one reads the pipeline's vectors, which these don't have. Leave them out"
    if reason:
        raise ValueError(Errors.F408.format(reason=reason))


def initialise(
    model: Seq2SeqModel, featuriser: TranslationFeaturiser, sources: Sequence[str]
) -> None:
    """Build the network for this vocabulary, and the tok2vec, which may infer its shapes from
    some sources."""
    model.attrs["featuriser"] = featuriser
    sizes = featuriser.sizes
    if (tok2vec := tok2vec_of(model)) is not None:
        tok2vec.initialize(X=[of_characters(source) for source in sources])
        sizes["upstream_width"] = tok2vec.get_dim("nO")
    shim_of(model).initialise({"options": model.attrs["options"].fixed(), "sizes": sizes})


def predict(model: Seq2SeqModel, pairs: list[KeyPair]) -> TranslationPredictions:
    """Compute batches lazily, so that only one is in memory."""

    def scores() -> Iterator[BatchScores]:
        for batch in batches(pairs, featuriser_of(model).options.batch_size):
            upstream = SourceVectors(model, [pairs[row].text for row in batch.rows])
            with shim_of(model).predicting() as network:
                found = network(batch, upstream.vectors)
            yield BatchScores(batch, found)

    return TranslationPredictions(scores(), sum(len(pair.target) - 1 for pair in pairs))


def batches(pairs: Sequence[KeyPair], batch_size: int) -> Iterator[TranslationBatch]:
    """Batches of pairs of similar lengths."""
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    sizes = [[len(pair.source), len(pair.target)] for pair in pairs]
    lengths = np.array(sizes, dtype=np.int64).reshape(-1, 2)
    for rows in like_lengths(lengths, batch_size):
        yield TranslationBatch.of(rows, sources, targets)


class SourceVectors:
    """The vectors [B, S, U] of some sources from the tok2vec, and their backprop.

    vectors: None without a tok2vec.
    """

    def __init__(
        self, model: Seq2SeqModel, texts: Sequence[SourceText], is_train: bool = False
    ) -> None:
        tok2vec = tok2vec_of(model)
        self.vectors: Tensor | None = None
        if tok2vec is None:
            return
        docs = [of_characters(each.text) for each in texts]
        self._features = Tok2VecFeatures(tok2vec, "char", docs, is_train, shim_of(model).device)
        # One more, since padding is 0 there and -1 here.
        places = PaddedKeys.of([each.places + 1 for each in texts]).keys - 1
        self.vectors = self._features.of_places(places)

    def of(self, batch: TranslationBatch) -> "Tensor | None":
        """Those of a batch, which may read each source twice."""
        n = len(batch.source.keys)
        if self.vectors is None or n == len(self.vectors):
            return self.vectors
        return self.vectors.repeat(n // len(self.vectors), 1, 1)

    def backprop(self) -> None:
        if self.vectors is not None:
            self._features.backprop()


def of_characters(text: str) -> Doc:
    """A Doc with a token for each character."""
    return Doc(CHARACTERS, words=list(text), spaces=[False] * len(text))


def featuriser_of(model: Seq2SeqModel) -> TranslationFeaturiser:
    return cast("TranslationFeaturiser", model.attrs["featuriser"])


def network_of(model: Seq2SeqModel) -> "Seq2Seq":
    return cast("Seq2Seq", shim_of(model).module)


def write(
    model: Seq2SeqModel, sources: Sequence[SourceKeys], how: BeamSearch
) -> list[list[Hypothesis]]:
    """Translate sentences, best hypotheses first."""
    options = featuriser_of(model).options
    found: list[list[Hypothesis]] = [[] for _ in sources]
    with shim_of(model).predicting():
        decoded = decode(
            network_of(model),
            sources,
            how,
            options.placeholders,
            options.batch_size,
            lambda batch: SourceVectors(model, [source.text for source in batch]).vectors,
        )
        for number, hypotheses in decoded:
            found[number] = hypotheses
    return found


def log_probs(model: Seq2SeqModel, pairs: Sequence[KeyPair]) -> list[float]:
    """ln P of each target, with its end, given its source."""
    found = np.zeros(len(pairs))
    network = network_of(model)
    for part in model.predict(list(pairs)).batches:
        own = network.log_probs(part.scores, part.batch.targets).cpu().double().numpy()
        counts = part.batch.inputs.present.sum(axis=1)
        found[part.batch.rows] = np.add.reduceat(own, np.cumsum(counts) - counts)
    return [float(each) for each in found]
