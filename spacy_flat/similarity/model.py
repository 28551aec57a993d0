"""The registered architecture `spacy-flat.RE2.v1`: pairs → padded texts → torch → logits."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from thinc.api import Model
from torch import Tensor

from ..nn.shim import make_model, shim_of, tok2vec_of
from ..text.batches import Ragged, batch_by_cost, padding, starts_of
from ..text.tok2vec import Tok2Vec, Tok2VecFeatures
from ..text.vocabulary import hash_words
from ..util.arrays import Float32s, Floats, Ints
from ..viz.alignment import Alignment
from .batch import TextBatch
from .featuriser import PairFeaturiser, PairTexts, bounds, trimmed
from .network import RE2
from .options import PairTextOptions, RE2Options
from .pairs import Pair
from .upstream import key_of


class BatchOutputs(NamedTuple):
    """[B] numbers of pairs, and [B, K] the network's outputs for them."""

    pairs: Ints
    outputs: Tensor


class Encoded(NamedTuple):
    """N texts to compare without reading them again: [N] numbers of units, [R, D] the embeddings
    of these, and [N, D] sentence vectors (see `encode`)."""

    counts: Ints
    units: Floats
    vectors: Floats

    def of(self, texts: Ints) -> "Encoded":
        """Some of them."""
        places, is_there = padding(self.counts[texts], starts_of(self.counts)[texts])
        return Encoded(self.counts[texts], self.units[places[is_there]], self.vectors[texts])


PairModel = Model[PairTexts, Iterator[BatchOutputs]]


def build_re2_model(
    network: RE2Options, text: PairTextOptions, tok2vec: Tok2Vec | None = None
) -> PairModel:
    """Build RE2 (Yang et al., ACL 2019). Its network is built later, for a vocabulary.

    network, text: see the options.
    tok2vec: its vector of a unit, or of the token of a character, joins the unit's embeddings.
    """
    build = partial(RE2.from_config, network)
    return make_model("re2", predict, network, PairFeaturiser(text), build, tok2vec)


def read_pairs(model: PairModel, pairs: Sequence[Pair], is_train: bool = False) -> PairTexts:
    """Pairs as the model reads them, with the vectors of its tok2vec."""
    featuriser, tok2vec = featuriser_of(model), tok2vec_of(model)
    spans = [trimmed(span) for pair in pairs for span in pair]
    texts = {key_of(span): span for span in spans}
    numbers = {key: number for number, key in enumerate(texts)}
    left, right = np.array([numbers[key_of(span)] for span in spans]).reshape(-1, 2).T
    strings = [featuriser.strings(span) for span in texts.values()]
    ids = featuriser.ids(strings)
    if tok2vec is None:
        return PairTexts(ids, left, right, strings)
    unit = featuriser.unit
    docs = {id(span.doc): span.doc for span in spans}
    features = Tok2VecFeatures(tok2vec, unit, [*docs.values()], is_train, shim_of(model).device)
    rows_of_doc = dict(zip(docs, features.rows, strict=True))
    rows = [
        rows_of_doc[id(span.doc)][slice(*bounds(span, unit))] if len(span) else np.zeros(1, int)
        for span in texts.values()
    ]
    ids.columns["upstream"] = np.concatenate(rows)
    return PairTexts(ids, left, right, strings, features.vectors, features.backprop)


def batches_of(model: PairModel, texts: PairTexts) -> Iterator[tuple[Ints, TextBatch]]:
    """Batches of pairs of similar length, with their numbers."""
    counts = texts.ids.counts
    lengths = np.maximum(counts[texts.left], counts[texts.right])
    for pairs in batch_by_cost(lengths, featuriser_of(model).options.batch_size // 2):
        sides = [texts.left[pairs], texts.right[pairs]]
        yield pairs, TextBatch.of(texts.ids, sides, texts.vectors)


def predict(model: PairModel, texts: PairTexts) -> Iterator[BatchOutputs]:
    """Compute batches lazily, so that only one is in memory."""
    for pairs, batch in batches_of(model, texts):
        with shim_of(model).predicting() as network:
            outputs = network(batch)
        yield BatchOutputs(pairs, outputs)


def align(model: PairModel, texts: PairTexts) -> Alignment:
    """The alignment of a single pair."""
    ((_, batch),) = batches_of(model, texts)
    with shim_of(model).predicting():
        blocks = network_of(model).alignments(batch)
    left, right = (texts.strings[side[0]] for side in (texts.left, texts.right))
    return Alignment(left, right, [weights[0].cpu().numpy() for weights in blocks])


def encode(model: PairModel, texts: PairTexts) -> Encoded:
    """A sentence vector is the sum of a text's embeddings, scaled to unit length.

    Punctuation and symbols don't count: a text of these alone has zeros. An unknown token counts as
    those of its characters that are known, if any are.
    """
    featuriser, network = featuriser_of(model), network_of(model)
    counts, width = texts.ids.counts, network.embed_width
    kept = np.zeros((counts.sum(), width), dtype=np.float32)
    sums = np.zeros((len(counts), width), dtype=np.float32)
    for numbers in batch_by_cost(counts, featuriser.options.batch_size):
        batch = TextBatch.of(texts.ids, [numbers], texts.vectors)
        with shim_of(model).predicting():
            embedded = network.embed(batch).cpu().numpy()
        places, is_there = padding(counts[numbers], texts.ids.starts[numbers])
        kept[places[is_there]] = embedded
        units = [unit for number in numbers.tolist() for unit in texts.strings[number]]
        speaks = np.array([any(map(str.isalnum, unit)) for unit in units])
        embedded = np.where(speaks[:, None], embedded, 0)
        if network.words is not None:
            unknown = np.flatnonzero(speaks & (batch.ids["words"] <= 0))
            _spell(model, [units[number] for number in unknown.tolist()], unknown, embedded)
        sums[numbers] = np.add.reduceat(embedded, starts_of(counts[numbers]))
    norms = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return Encoded(counts, kept, sums / norms)


def compare(model: PairModel, text: Encoded, others: Encoded) -> Float32s:
    """[N, K] the network's outputs for one text and each of N others."""
    counts = np.concatenate([text.counts, others.counts])
    units = np.concatenate([text.units, others.units], dtype=np.float32)
    rows = Ragged(counts, {"upstream": np.arange(len(units))})
    right, network = 1 + np.arange(len(others.counts)), network_of(model)
    pairs = PairTexts(rows, np.zeros_like(right), right, vectors=network.to_tensor(units))
    outputs = np.zeros((len(right), network.n_outputs), dtype=np.float32)
    for numbers, batch in batches_of(model, pairs):
        with shim_of(model).predicting():
            found = network.compare(batch.upstream, network.texts(batch))
        outputs[numbers] = found.cpu().numpy()
    return outputs


def _spell(model: PairModel, words: Sequence[str], places: Ints, embedded: Float32s) -> None:
    """Replace the embeddings of unknown words by the sums of their characters'."""
    featuriser, network = featuriser_of(model), network_of(model)
    spelled = [[each for each in featuriser.simplifier(word) if each.isalnum()] for word in words]
    characters = [character for own in spelled for character in own]
    ids = featuriser.words.look_up(hash_words(characters, featuriser.options))
    owners = np.repeat(places, [len(own) for own in spelled])[ids > 0]
    if len(owners) and network.words is not None:
        with shim_of(model).predicting():
            vectors = network.words(network.to_tensor(ids[ids > 0])).cpu().numpy()
        embedded[owners, : vectors.shape[1]] = 0
        np.add.at(embedded[:, : vectors.shape[1]], owners, vectors)


def cosines_of(model: PairModel, texts: PairTexts) -> Float32s:
    """[B] the cosines of the sentence vectors of both texts of each pair."""
    vectors = encode(model, texts).vectors
    cosines: Float32s = (vectors[texts.left] * vectors[texts.right]).sum(axis=1)
    return cosines


def network_of(model: PairModel) -> RE2:
    return cast(RE2, shim_of(model).module)


def featuriser_of(model: PairModel) -> PairFeaturiser:
    return cast(PairFeaturiser, model.attrs["featuriser"])
