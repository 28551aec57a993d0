"""Texts as far as the network reads each by itself: up to the first alignment.

Shapes: N texts, U units of all texts, D width of the embeddings, W width of a tok2vec's vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..nn.model import shim_of
from ..text.padding import group_by_cost, padding
from ..text.vocabulary import hash_words
from ..util.arrays import Float32s, Floats, Int32s, Ints
from .featuriser import PairTexts
from .model import PairModel, featuriser_of, network_of, to_numbers

MAX_HALF = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class EncodedTexts:
    """N texts with U units in all; a text without units has an unknown one.

    Stores the keys of the embeddings instead of their vectors, which take much more memory.
    """

    lengths: Ints  # [N] units of each text
    keys: Int32s  # [U, 3] of characters, bigrams and words
    upstream: Floats  # [U, W] vectors of a tok2vec; W is 0 without one
    encoded: Floats  # [U, hidden] outputs of the first encoder; a width of 0 if it isn't needed
    vectors: Floats  # [N, D] see `sentence_vectors`

    @classmethod
    def of(cls, model: PairModel, texts: PairTexts, *, encode: bool = True) -> "EncodedTexts":
        """Encode all distinct texts. encode: whether `compare` will be called."""
        network, width = network_of(model), network_of(model).embed_width
        parts, order = [], []
        for numbers, batch in featuriser_of(model).text_batches(texts):
            with shim_of(model).predicting():
                upstream = texts.upstream.of(batch.segments)
                units = network.embed(batch.keys, upstream)
                if encode:
                    units = network.encode(units, batch.n_units)
            _, present = padding(batch.n_units, batch.n_units)
            embedded, encoded = np.split(to_numbers(units)[present], [width], axis=1)
            known = np.zeros((len(embedded), 0), dtype=np.float32)
            if upstream is not None:
                known = upstream.cpu().numpy()[present]
            keys = np.stack([own[present] for own in batch.keys], axis=1).astype(np.int32)
            strings = [texts.strings(number) for number in numbers.tolist()]
            vectors = sentence_vectors(model, strings, keys[:, 2], embedded)
            parts.append(cls(batch.n_units, keys, known, encoded, vectors))
            order.append(numbers)
        return cls.join(parts).select(np.argsort(np.concatenate(order)))

    @classmethod
    def join(cls, parts: Sequence["EncodedTexts"]) -> "EncodedTexts":
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def select(self, numbers: Ints) -> "EncodedTexts":
        """Some of the texts."""
        places, present = padding(self.lengths[numbers], self._starts[numbers])
        units = places[present]
        return EncodedTexts(
            self.lengths[numbers],
            self.keys[units],
            self.upstream[units],
            self.encoded[units],
            self.vectors[numbers],
        )

    def halved(self) -> "EncodedTexts":
        """In half precision."""
        # An infinite value would make every comparison NaN.
        encoded = self.encoded.clip(-MAX_HALF, MAX_HALF).astype(np.float16)
        upstream, vectors = (each.astype(np.float16) for each in (self.upstream, self.vectors))
        return EncodedTexts(self.lengths, self.keys, upstream, encoded, vectors)

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> "EncodedTexts":
        """From `arrays`."""
        return cls(*(arrays[field.name] for field in fields(cls)))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _starts(self) -> Ints:
        """[N] the first unit of each text."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def _vectors(self) -> Float32s:
        return self.vectors.astype(np.float32)

    def cosines(self, query: "EncodedTexts") -> Float32s:
        """[N] cosines of the vectors of the texts and of a single one."""
        found: Float32s = self._vectors @ query.vectors[0]
        return found

    def compare(self, model: PairModel, query: "EncodedTexts", numbers: Ints) -> Float32s:
        """Compare a single text with texts [B]. Returns the outputs [B, K]."""
        lengths = self.lengths[numbers]
        longest = np.maximum(lengths, query.lengths[0])
        order, batch_size = (
            np.argsort(longest, kind="stable"),
            featuriser_of(model).options.batch_size,
        )
        found = []
        for some in group_by_cost(order, longest, longest, batch_size):
            both = EncodedTexts.join([query, self.select(numbers[some])])
            found.append(both._compare_first(model))
        in_order: Float32s = np.concatenate(found)[np.argsort(order)]
        return in_order

    def _compare_first(self, model: PairModel) -> Float32s:
        """Compare the first text with each of the others."""
        network, others = network_of(model), np.arange(1, len(self.lengths))
        places, _ = padding(self.lengths, self._starts)
        keys = self.keys[places].transpose(2, 0, 1).astype(np.int64)
        with shim_of(model).predicting():
            upstream = self.upstream[places] if self.upstream.shape[1] else None
            encoded = network.recall(keys, upstream, self.encoded[places], self.lengths)
            outputs = network.compare(encoded, self.lengths, np.zeros_like(others), others)
        return to_numbers(outputs)


def cosines_of(model: PairModel, texts: PairTexts) -> Float32s:
    """[B] the cosines of the vectors of both texts of each pair, at least one."""
    vectors = EncodedTexts.of(model, texts, encode=False).vectors
    cosines: Float32s = (vectors[texts.left] * vectors[texts.right]).sum(axis=1)
    return cosines


def sentence_vectors(
    model: PairModel, strings: Sequence[Sequence[str]], words: Int32s, embedded: Float32s
) -> Float32s:
    """[N, D] the sums of each text's embeddings, scaled to unit length.

    Punctuation and symbols don't count: a text of these alone has zeros. An unknown token counts as
    those of its characters that are known, if any are.

    strings: the units of each text, at least one.
    words: [U] keys of the words, 0 or less for unknown ones.
    embedded: [U, D]
    """
    units = [string for own in strings for string in own]
    counts = np.array([any(map(str.isalnum, unit)) for unit in units])
    embedded = np.where(counts[:, None], np.clip(embedded, -MAX_HALF, MAX_HALF), 0)
    if featuriser_of(model).unit == "token":
        unknown = np.flatnonzero(counts & (words <= 0))
        _spell(model, [units[number] for number in unknown], unknown, embedded)
    starts = np.cumsum([0, *map(len, strings[:-1])])
    sums = np.add.reduceat(embedded, starts, axis=0)
    vectors: Float32s = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return vectors


def _spell(model: PairModel, words: Sequence[str], places: Ints, embedded: Float32s) -> None:
    """Replace the vectors of unknown words by the sums of their characters' vectors."""
    featuriser, network = featuriser_of(model), network_of(model)
    spelled = [
        (place, character)
        for place, word in zip(places.tolist(), words, strict=True)
        for character in featuriser.simplifier(word)
        if character.isalnum()
    ]
    owners = np.array([place for place, _ in spelled], dtype=np.int64)
    characters = [character for _, character in spelled]
    keys = featuriser.words.look_up(hash_words(characters, featuriser.options), False)
    owners, keys = owners[keys > 0], keys[keys > 0]
    if not len(keys) or network.words is None:
        return
    with shim_of(model).predicting():
        vectors = network.words(network.to_tensor(keys)).cpu().numpy()
    embedded[np.unique(owners), : vectors.shape[1]] = 0
    np.add.at(embedded[:, : vectors.shape[1]], owners, vectors)
