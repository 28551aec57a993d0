"""Vectors of characters in spacy-transformers' data classes.

Shapes: N characters of all Docs, n of one, D width. Arrays are NumPy's or CuPy's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy_transformers.data_classes import FullTransformerBatch, TransformerData, WordpieceBatch
from thinc.api import get_array_module, xp2torch
from thinc.types import Ragged
from transformers.utils.generic import ModelOutput

from ..util.arrays import Ints
from .pieces import PieceFeaturiser


class CharacterOutput(FullTransformerBatch):
    """The vectors of all N characters as one window."""

    def unsplit_by_doc(self, arrays: Sequence[Sequence[Any]]) -> FullTransformerBatch:
        """The gradients [1, n, D] of non-empty Docs as one [1, N, D]."""
        parts = [array for (array,) in arrays]
        xp: Any = get_array_module(parts[0])  # type: ignore[no-untyped-call]
        output = _output(xp2torch(xp.concatenate(parts, axis=1)))
        return FullTransformerBatch(self.spans, self.wordpieces, output, self.align)


def character_batch(
    docs: Sequence[Doc], texts: Sequence[str], featuriser: PieceFeaturiser, vectors: Any
) -> CharacterOutput:
    """texts: of the Docs' tokens. vectors: [N, D]."""
    ends = np.cumsum([len(text) for text in texts]).tolist()
    datas = [
        # A copy, so that a Doc doesn't keep the whole batch alive.
        _data(doc, text, featuriser, vectors[None, end - len(text) : end].copy())
        for doc, text, end in zip(docs, texts, ends, strict=True)
    ]
    return CharacterOutput(
        spans=[[doc[:]] if len(doc) else [] for doc in docs],
        wordpieces=_pieces("".join(texts), featuriser),
        model_output=_output(xp2torch(vectors[None])),
        align=_align(np.concatenate([_lengths(doc) for doc in docs])),
        cached_doc_data=datas,
    )


def data_of_gradient(gradient: Any, data: TransformerData) -> TransformerData:
    """gradient: [n, D] of a Doc."""
    return TransformerData(data.wordpieces, _output(gradient[None]), data.align)


def _data(doc: Doc, text: str, featuriser: PieceFeaturiser, vectors: Any) -> TransformerData:
    if not len(doc):
        return TransformerData.empty()
    return TransformerData(_pieces(text, featuriser), _output(vectors), _align(_lengths(doc)))


def _output(vectors: Any) -> ModelOutput:
    return ModelOutput(last_hidden_state=vectors)  # type: ignore[no-untyped-call]


def _lengths(doc: Doc) -> Ints:
    return doc.to_array("LENGTH").astype(np.int64)


def _align(lengths: Any) -> Ragged:
    """The pieces of tokens of some characters each."""
    places: Any = np.arange(lengths.sum(), dtype="i")
    return Ragged(places, lengths.astype("i"))


def _pieces(text: str, featuriser: PieceFeaturiser) -> WordpieceBatch:
    pieces: Any = featuriser.keys(text)[None]
    mask: Any = np.ones(pieces.shape, dtype="f")
    return WordpieceBatch([list(text)], pieces, mask, [len(text)], None)
