"""Texts as far as the network reads each by itself: up to the first alignment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Span

from ..nn.model import shim_of, tok2vec_of
from ..text.padding import group_by_cost
from ..text.tok2vec import ReadOnce, Tok2VecFeatures
from ..util.arrays import Float32s, Int32s, Ints
from .batch import Halves, KnownRows, TextRows, compare_with_first, places_of
from .model import PairModel, network_of
from .reading import PairFeaturiser, PairTexts, SpanPairs, docs_of, rows_of

if TYPE_CHECKING:
    from torch import Tensor

HALF_MOST = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class EncodedTexts:
    """N texts with U units in all; a text without units has an unknown one.

    Stores the keys of the embeddings instead of their vectors, which take much more memory.
    """

    lengths: Ints  # [N] units of each text
    keys: Int32s  # [U, 3] of characters, bigrams and words
    upstream: Halves  # [U, W] vectors of a tok2vec; W is 0 without one
    encoded: Halves  # [U, hidden] outputs of the first encoder

    @classmethod
    def of(cls, model: PairModel, spans: Sequence[Span], upstream: ReadOnce) -> "EncodedTexts":
        """Encode distinct texts, all at once."""
        rows, vectors = read_texts(model, spans, upstream)
        with shim_of(model).predicting():
            encoded = network_of(model).first_encoding(rows, vectors).cpu().numpy()
        lengths = rows_of(rows.segments)
        encoded = encoded[: lengths.sum()]
        known = np.zeros((len(encoded), 0)) if vectors is None else vectors.cpu().numpy()
        keys = np.stack([rows.chars, rows.bigrams, rows.words], 1)[: len(encoded)]
        return cls(
            lengths,
            keys.astype(np.int32),
            known.astype(np.float16),
            # An infinite value would make every comparison NaN.
            encoded.clip(-HALF_MOST, HALF_MOST).astype(np.float16),
        )

    @classmethod
    def join(cls, parts: Sequence["EncodedTexts"]) -> "EncodedTexts":
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def select(self, numbers: Ints) -> "EncodedTexts":
        """Some of the texts."""
        units = places_of(self.starts[numbers], self.lengths[numbers])
        return EncodedTexts(
            self.lengths[numbers], self.keys[units], self.upstream[units], self.encoded[units]
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

    def compare(self, model: PairModel, query: Span, numbers: Ints) -> Float32s:
        """Compare the query, encoded once, with texts [B]. Returns the outputs [B, K]."""
        featuriser: PairFeaturiser = model.attrs["featuriser"]
        network, most = network_of(model), featuriser.options.batch_size
        rows, vectors = read_texts(model, [query], ReadOnce(tok2vec_of(model)))
        (n_query,), lengths = rows_of(rows.segments), self.lengths[numbers]
        order = np.argsort(lengths, kind="stable")
        found = []
        with shim_of(model).predicting():
            encoded = network.encode(rows, vectors)[:n_query]
            for some in group_by_cost(order, np.full_like(lengths, n_query), lengths, most):
                n_units = np.concatenate([[n_query], lengths[some]])
                comparison = compare_with_first(n_units, featuriser.reach)
                outputs = network.compare_known(encoded, self.known(numbers[some]), comparison)
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


def read_texts(
    model: PairModel, spans: Sequence[Span], upstream: ReadOnce
) -> tuple[TextRows, "Tensor | None"]:
    """The rows of distinct texts, and the vectors of their units from a tok2vec."""
    featuriser: PairFeaturiser = model.attrs["featuriser"]
    pairs = [(span, span) for span in spans]
    texts = PairTexts.of(SpanPairs(docs_of(pairs), pairs), featuriser.unit)
    rows = featuriser.rows(texts, texts.left)
    known = upstream.token_vectors(texts.docs)
    device = shim_of(model).device
    vectors = Tok2VecFeatures(upstream.tok2vec, featuriser.unit, texts.docs, False, device, known)
    return rows, vectors.of_texts(rows.segments)
