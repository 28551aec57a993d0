"""The registered architecture `spacy-flat.RE2.v1`: pairs → rows → torch → logits."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from thinc.api import Model

from ..initialise import initialise_network
from ..nn.model import shim_of, tok2vec_of
from ..text.tok2vec import Tok2Vec, Tok2VecFeatures
from ..text.vocabulary import Vocabulary
from ..util.arrays import Ints
from .alignment import Alignment, BlockAlignment
from .featuriser import PairFeaturiser, PairTexts, SpanPairs
from .options import PairTextOptions, RE2Options

if TYPE_CHECKING:
    from torch import Tensor

    from .network import RE2


class BatchOutputs(NamedTuple):
    """[B] numbers of pairs, and [B, K] the network's outputs for them."""

    pairs: Ints
    outputs: "Tensor"


PairModel = Model[SpanPairs, Iterator[BatchOutputs]]


def build_re2_model(
    network: RE2Options, text: PairTextOptions, tok2vec: Tok2Vec | None = None
) -> PairModel:
    """Build RE2 (Yang et al., ACL 2019). `initialise` builds the network.

    network, text: see the options.
    tok2vec: its vector of a unit, or of the token of a character, joins the unit's embeddings.
    """
    from ..nn.model import make_model
    from .network import RE2

    featuriser = PairFeaturiser(text, max(1, max(network.kernel_sizes) // 2))
    build = partial(RE2.from_config, network)
    return make_model("re2", predict, network, featuriser, build, tok2vec)


def predict(model: PairModel, pairs: SpanPairs) -> Iterator[BatchOutputs]:
    """Compute batches lazily, so that only one is in memory."""
    featuriser, texts, upstream = read_pairs(model, pairs)
    shim = shim_of(model)
    for batch in featuriser.batches(texts):
        with shim.predicting() as network:
            outputs = network(batch, upstream.of_texts(batch.texts.segments))
        yield BatchOutputs(batch.pairs, outputs)


def align(model: PairModel, pairs: SpanPairs) -> list[Alignment]:
    """The alignment of each pair."""
    featuriser, texts, upstream = read_pairs(model, pairs)
    found: dict[int, Alignment] = {}
    for batch in featuriser.batches(texts):
        with shim_of(model).predicting():
            network = network_of(model)
            encoded = network.encode(batch.texts, upstream.of_texts(batch.texts.segments))
            blocks = network.alignments(encoded, batch.comparison)
        arrays = [(there.cpu().numpy(), back.cpu().numpy()) for there, back in blocks]
        for row, pair in enumerate(batch.pairs.tolist()):
            left, right = (texts.strings(side[pair]) for side in (texts.left, texts.right))
            L, R = len(left), len(right)
            # Copies don't keep the padded batch in memory.
            own = [
                BlockAlignment(there[row, :L, :R].copy(), back[row, :R, :L].copy())
                for there, back in arrays
            ]
            found[pair] = Alignment(left, right, own)
    return [found[pair] for pair in range(len(found))]


def read_pairs(
    model: PairModel, pairs: SpanPairs
) -> tuple[PairFeaturiser, PairTexts, Tok2VecFeatures]:
    """The texts of pairs as the model reads them."""
    featuriser: PairFeaturiser = model.attrs["featuriser"]
    unit, device = featuriser.unit, shim_of(model).device
    upstream = Tok2VecFeatures(
        tok2vec_of(model), unit, pairs.docs, False, device, vectors=pairs.token_vectors
    )
    return featuriser, PairTexts.of(pairs, unit), upstream


def network_of(model: PairModel) -> "RE2":
    return cast("RE2", shim_of(model).module)


def initialise(
    model: PairModel, pairs: SpanPairs, labels: Sequence[str], vocabulary: Vocabulary, name: str
) -> None:
    """Build the network for these labels and vocabularies."""
    initialise_network(model, pairs.docs, vocabulary, {"labels": list(labels)}, name)
