"""The registered architecture `spacy-flat.RE2.v1`: pairs → padded texts → torch → logits."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from spacy.tokens import Span
from thinc.api import Model

from ..errors import Errors
from ..nn.model import make_model, shim_of, tok2vec_of
from ..text.tok2vec import Tok2Vec, Tok2VecFeatures
from ..text.units import Units
from ..util.arrays import Float32s, Ints
from .alignment import Alignment, BlockAlignment
from .featuriser import PairFeaturiser, PairTexts, number_texts
from .options import PairTextOptions, RE2Options
from .pairs import Pair

if TYPE_CHECKING:
    from torch import Tensor

    from .network import RE2


class BatchOutputs(NamedTuple):
    """[B] numbers of pairs, and [B, K] the network's outputs for them."""

    pairs: Ints
    outputs: "Tensor"


PairModel = Model[PairTexts, Iterator[BatchOutputs]]


def build_re2_model(
    network: RE2Options, text: PairTextOptions, tok2vec: Tok2Vec | None = None
) -> PairModel:
    """Build RE2 (Yang et al., ACL 2019). Its network is built later, for a vocabulary.

    network, text: see the options.
    tok2vec: its vector of a unit, or of the token of a character, joins the unit's embeddings.
    """
    from .network import RE2

    featuriser = PairFeaturiser(text)
    build = partial(RE2.from_config, network)
    return make_model("re2", predict, network, featuriser, build, tok2vec)


def read_pairs(model: PairModel, pairs: Sequence[Pair], is_train: bool = False) -> PairTexts:
    """The distinct texts of pairs, and the vectors of a tok2vec, as the model reads them."""
    docs = list({id(span.doc): span.doc for pair in pairs for span in pair}.values())
    unit = featuriser_of(model).unit
    device = shim_of(model).device
    upstream = Tok2VecFeatures(tok2vec_of(model), unit, docs, is_train, device)
    units = [Units.of(doc, unit) for doc in docs]
    return PairTexts(docs, units, *number_texts(pairs, docs, unit), upstream)


def read_texts(model: PairModel, spans: Sequence[Span]) -> PairTexts:
    """Distinct texts as pairs of each with itself."""
    return read_pairs(model, [(span, span) for span in spans])


def predict(model: PairModel, texts: PairTexts) -> Iterator[BatchOutputs]:
    """Compute batches lazily, so that only one is in memory."""
    for batch in featuriser_of(model).pair_batches(texts):
        with shim_of(model).predicting() as network:
            outputs = network(batch, texts.upstream.of(batch.texts.segments))
        yield BatchOutputs(batch.pairs, outputs)


def align(model: PairModel, texts: PairTexts) -> list[Alignment]:
    """The alignment of each pair."""
    found: dict[int, Alignment] = {}
    network = network_of(model)
    for batch in featuriser_of(model).pair_batches(texts):
        with shim_of(model).predicting():
            n_units = batch.texts.n_units
            embedded = network.embed(batch.texts.keys, texts.upstream.of(batch.texts.segments))
            encoded = network.encode(embedded, n_units)
            blocks = network.alignments(encoded, n_units, batch.left, batch.right)
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


def to_numbers(outputs: "Tensor") -> Float32s:
    """Outputs of the network as an array. Raises ValueError (F240) for NaN."""
    found: Float32s = outputs.cpu().numpy()
    if (found != found).any():
        raise ValueError(Errors.F240.format(what="outputs of the network"))
    return found


def network_of(model: PairModel) -> "RE2":
    return cast("RE2", shim_of(model).module)


def featuriser_of(model: PairModel) -> PairFeaturiser:
    return cast(PairFeaturiser, model.attrs["featuriser"])
