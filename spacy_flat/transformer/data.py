"""Vectors of characters in spacy-transformers' data classes.

Shapes: N characters of the tokens of all Docs, n of one, D width. Arrays are NumPy's or CuPy's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy_transformers.data_classes import FullTransformerBatch, TransformerData, WordpieceBatch
from thinc.api import get_array_module, xp2torch
from thinc.types import Ragged
from transformers.utils.generic import ModelOutput

from ..errors import Errors
from ..util.arrays import Ints


class CharacterOutput(FullTransformerBatch):
    """The vectors of all N characters as one window."""

    def unsplit_by_doc(self, arrays: Sequence[Sequence[Any]]) -> FullTransformerBatch:
        """The gradients [1, n, D] of non-empty Docs as one [1, N, D]."""
        parts = [array for (array,) in arrays]
        xp: Any = get_array_module(parts[0])  # type: ignore[no-untyped-call]
        output = _output(xp2torch(xp.concatenate(parts, axis=1)))
        return FullTransformerBatch(self.spans, self.wordpieces, output, self.align)


def character_batch(docs: Sequence[Doc], vectors: Any) -> CharacterOutput:
    """vectors: [N, D]."""
    lengths = [doc.to_array("LENGTH").astype(np.int64) for doc in docs]
    ends = np.cumsum([own.sum() for own in lengths]).tolist()
    starts = [0, *ends[:-1]]
    datas = [
        # A copy, so that a Doc doesn't keep the whole batch alive.
        TransformerData(
            WordpieceBatch.empty(), _output(vectors[None, start:end].copy()), _align(own)
        )
        if len(own)
        else TransformerData.empty()
        for start, end, own in zip(starts, ends, lengths, strict=True)
    ]
    return CharacterOutput(
        spans=[[doc[:]] if len(doc) else [] for doc in docs],
        wordpieces=WordpieceBatch.empty(),
        model_output=_output(xp2torch(vectors[None])),
        align=_align(np.concatenate(lengths)),
        cached_doc_data=datas,
    )


def vectors_of(doc: Doc, data: TransformerData) -> Any:
    """[n, D] of a Doc's characters. Raises ValueError (F379) if it has others."""
    hidden = data.model_output.get("last_hidden_state")
    if hidden is None or hidden.shape[:2] != (1, doc.to_array("LENGTH").sum()):
        raise ValueError(Errors.F379.format(text=doc.text[:40]))
    return hidden[0]


def data_of_gradient(gradient: Any, data: TransformerData) -> TransformerData:
    """gradient: [n, D] of a Doc."""
    return TransformerData(data.wordpieces, _output(gradient[None]), data.align)


def _output(vectors: Any) -> ModelOutput:
    return ModelOutput(last_hidden_state=vectors)  # type: ignore[no-untyped-call]


def _align(lengths: Ints) -> Ragged:
    """The vectors of tokens of so many characters each."""
    places: Any = np.arange(lengths.sum(), dtype="i")
    return Ragged(places, lengths.astype("i"))  # type: ignore[arg-type]
