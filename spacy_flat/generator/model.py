"""The registered architecture `spacy-flat.CharLM.v1`: Docs → pieces → torch → scores."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypeAlias, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from torch import Tensor

from ..initialise import initialise_network
from ..nn.shim import make_model, shim_of
from ..text.scripts import Simplifier
from ..text.vocabulary import NewTable, Pretrained, Vocabulary, character_vectors, count_characters
from ..vectors import VectorSource
from .featuriser import END, START, CharFeaturiser, Piece
from .network import CharLM, NGramTable
from .ngrams import count_ngrams
from .options import CharLMOptions, TextOptions

# Pieces of texts, each with the scores [M, K] of each key to come next
Predictions: TypeAlias = "Iterator[tuple[Piece, Tensor]]"
CharLMModel = Model[list[Doc], Predictions]


def build_char_lm(network: CharLMOptions, text: TextOptions) -> CharLMModel:
    """Build a character language model with LSTM or GRU layers (Mikolov et al., 2010; Merity et
    al., 2018). `initialise` builds the network.

    network, text: see the options.
    """
    build = partial(CharLM.from_config, network)
    return make_model("char_lm", predict, network, CharFeaturiser(text), build)


def initialise(
    model: CharLMModel, docs: list[Doc], char_vectors: VectorSource | None, name: str
) -> None:
    """Build the network for the vocabulary of the training Docs, and count their n-grams."""
    options = model.attrs["featuriser"].options
    vocabulary = build_vocabulary(options, [doc.text for doc in docs], char_vectors)
    featuriser: CharFeaturiser = vocabulary.featuriser
    n_kept, sizes = model.attrs["options"].ngrams, {"start": featuriser.marks[0]}
    if not n_kept:
        initialise_network(model, docs, vocabulary, sizes, name)
        return
    keys = [featuriser.keys(doc.text) for doc in docs]
    ngrams = count_ngrams(keys, len(featuriser.strings), featuriser.marks, n_kept)
    n_of_each = [len(order.codes) for order in ngrams.orders]
    initialise_network(model, docs, vocabulary, {**sizes, "ngrams": n_of_each}, name)
    cast(NGramTable, network_of(model).ngrams).fill(ngrams)


def build_vocabulary(
    options: TextOptions, texts: Sequence[str], char_vectors: VectorSource | None = None
) -> Vocabulary:
    """Build the featuriser and the table of its network from training texts.

    A character that only the vectors have stays unknown: the network would never predict it.
    """
    simplifier = Simplifier.of(texts)
    counts = count_characters(list(map(simplifier, texts)))
    for mark in (START, END):
        counts[mark] = max(len(texts), options.min_freq)
    known = [code for code, times in counts.items() if times >= options.min_freq]
    found = character_vectors(char_vectors, 1, options)
    useful = np.isin(found.hashes, np.array(known, dtype=np.uint64))
    pretrained = Pretrained(found.hashes[useful], found.vectors[useful])
    table = NewTable.build(counts, options.min_freq, pretrained, options)
    return Vocabulary(CharFeaturiser(options, table.vocab, simplifier), {"chars": table})


def predict(model: CharLMModel, docs: list[Doc]) -> Predictions:
    """Compute pieces lazily, so that only one is in memory."""
    featuriser: CharFeaturiser = model.attrs["featuriser"]
    state = None
    for piece in featuriser.pieces([doc.text for doc in docs]):
        with shim_of(model).predicting() as network:
            scores, state = network(piece, state)
        yield piece, scores


def network_of(model: CharLMModel) -> CharLM:
    return cast(CharLM, shim_of(model).module)
