"""Texts as far as the network reads each by itself: up to the first alignment.

Shapes: N texts, U units of all texts, D width of the embeddings, W width of a tok2vec's vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Span

from ..nn.model import shim_of, tok2vec_of
from ..text.padding import group_by_cost
from ..text.tok2vec import ReadOnce, Tok2VecFeatures
from ..util.arrays import Float32s, Int32s, Ints
from .batch import Halves, KnownRows, TextRows, compare_with_first, places_of
from .directions import HALF_MOST, directions_of
from .featuriser import PairFeaturiser, PairTexts, SpanPairs, docs_of, rows_of
from .model import PairModel, network_of

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class EncodedTexts:
    """N texts with U units in all; a text without units has an unknown one.

    Stores the keys of the embeddings instead of their vectors, which take much more memory.
    """

    lengths: Ints  # [N] units of each text
    keys: Int32s  # [U, 3] of characters, bigrams and words
    upstream: Halves  # [U, W] vectors of a tok2vec; W is 0 without one
    encoded: Halves  # [U, hidden] outputs of the first encoder
    directions: Halves  # [N, D] see `directions_of`

    @classmethod
    def of(cls, model: PairModel, spans: Sequence[Span], upstream: ReadOnce) -> "EncodedTexts":
        """Encode distinct texts, all at once."""
        read = read_texts(model, spans, upstream)
        _, rows, vectors = read
        width, lengths = network_of(model).embed_width, rows_of(rows.segments)
        with shim_of(model).predicting():
            units = network_of(model).encode(rows, vectors)[: lengths.sum()].cpu().numpy()
        embedded, encoded = np.split(units, [width], axis=1)
        known = np.zeros((len(encoded), 0)) if vectors is None else vectors.cpu().numpy()
        keys = np.stack(rows.keys, 1)[: len(encoded)]
        return cls(
            lengths,
            keys.astype(np.int32),
            known.astype(np.float16),
            # An infinite value would make every comparison NaN.
            encoded.clip(-HALF_MOST, HALF_MOST).astype(np.float16),
            read.directions(model, embedded).astype(np.float16),
        )

    @classmethod
    def join(cls, parts: Sequence["EncodedTexts"]) -> "EncodedTexts":
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def select(self, numbers: Ints) -> "EncodedTexts":
        """Some of the texts."""
        units = places_of(self.starts[numbers], self.lengths[numbers])
        return EncodedTexts(
            self.lengths[numbers],
            self.keys[units],
            self.upstream[units],
            self.encoded[units],
            self.directions[numbers],
        )

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> "EncodedTexts":
        """From `arrays`."""
        return cls(*(arrays[field.name] for field in fields(cls)))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def starts(self) -> Ints:
        """[N] the first unit of each text."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def _directions(self) -> Float32s:
        return self.directions.astype(np.float32)

    def cosines(self, query: "QueryText") -> Float32s:
        """[N] cosines of the directions of the query and the texts."""
        found: Float32s = self._directions @ query.direction
        return found

    def compare(self, model: PairModel, query: "QueryText", numbers: Ints) -> Float32s:
        """Compare the query with texts [B]. Returns the outputs [B, K]."""
        featuriser: PairFeaturiser = model.attrs["featuriser"]
        network, most = network_of(model), featuriser.options.batch_size
        n_query, lengths = len(query.encoded), self.lengths[numbers]
        order = np.argsort(lengths, kind="stable")
        found = []
        with shim_of(model).predicting():
            for some in group_by_cost(order, np.full_like(lengths, n_query), lengths, most):
                n_units = np.concatenate([[n_query], lengths[some]])
                comparison = compare_with_first(n_units, featuriser.reach)
                outputs = network.compare_known(
                    query.encoded, self.known(numbers[some]), comparison
                )
                found.append(outputs.cpu().numpy())
        in_order: Float32s = np.concatenate(found)[np.argsort(order)]
        return in_order

    def known(self, numbers: Ints) -> KnownRows:
        """The rows of some texts."""
        units = places_of(self.starts[numbers], self.lengths[numbers])
        return KnownRows(
            self.keys[units].T.astype(np.int64),
            self.upstream[units] if self.upstream.shape[1] else None,
            self.encoded[units],
        )


@dataclass(frozen=True)
class QueryText:
    """A text to search for."""

    encoded: "Tensor"  # [units, D + hidden] embeddings, and outputs of the first encoder, if asked
    direction: Float32s  # [D] see `directions_of`

    @classmethod
    def of(cls, model: PairModel, query: Span, is_compared: bool = True) -> "QueryText":
        """is_compared: whether `EncodedTexts.compare` will ask the network."""
        read, network = read_texts(model, [query], ReadOnce(tok2vec_of(model))), network_of(model)
        rows = read.rows
        with shim_of(model).predicting():
            if is_compared:
                encoded = network.encode(rows, read.vectors)
            else:
                encoded = network.embed(rows.keys, read.vectors)
        encoded = encoded[: rows_of(rows.segments)[0]]
        embedded = encoded[:, : network.embed_width].cpu().numpy()
        return cls(encoded, read.directions(model, embedded)[0])


class ReadTexts(NamedTuple):
    """Distinct texts as the network reads them."""

    texts: PairTexts
    rows: TextRows
    vectors: "Tensor | None"  # of their units, from a tok2vec

    def directions(self, model: PairModel, embedded: Float32s) -> Float32s:
        """[N, D] see `directions_of`; embedded: [U, D]."""
        strings = [self.texts.strings(number) for number in self.texts.left.tolist()]
        return directions_of(model, strings, self.rows.words[: len(embedded)], embedded)


def read_texts(model: PairModel, spans: Sequence[Span], upstream: ReadOnce) -> ReadTexts:
    """Read distinct texts."""
    featuriser: PairFeaturiser = model.attrs["featuriser"]
    pairs = [(span, span) for span in spans]
    texts = PairTexts.of(SpanPairs(docs_of(pairs), pairs), featuriser.unit)
    rows = featuriser.rows(texts, texts.left)
    known = upstream.token_vectors(texts.docs)
    device = shim_of(model).device
    vectors = Tok2VecFeatures(
        upstream.tok2vec, featuriser.unit, texts.docs, False, device, vectors=known
    )
    return ReadTexts(texts, rows, vectors.of_texts(rows.segments))
