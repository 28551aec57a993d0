"""Features of a tok2vec for the units of texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from thinc.api import Model, torch2xp, xp2torch
from thinc.types import Floats2d
from torch import Tensor

from ..errors import Errors
from ..util.arrays import Ints
from .batches import padding
from .segments import Segment
from .spans import Unit, Units, token_ends

Tok2Vec = Model[list[Doc], list[Floats2d]]


class Tok2VecFeatures:
    """The tok2vec features of some Docs, and their backprop.

    tok2vec: gives one vector per token or, if its attribute "unit" is "char", one per character of
        the tokens.
    device: of the network that reads them.
    texts: the units of the Docs; by default all characters or tokens.

    Raises ValueError if it gives vectors of characters, but the units are tokens (F367), if it
    listens to a tok2vec of another width than in the config (F369), and if that one hasn't read the
    Docs (F366).
    """

    def __init__(
        self,
        tok2vec: Tok2Vec,
        unit: Unit,
        docs: list[Doc],
        is_train: bool,
        device: torch.device,
        *,
        texts: Sequence[Units] | None = None,
    ) -> None:
        self.tok2vec = tok2vec
        learns = is_train and (is_awaited(tok2vec, docs) or not listeners(tok2vec))
        if not learns:
            require_read(tok2vec, docs)
        if any(map(len, docs)):
            vectors, self._backprop = tok2vec(docs, learns)
        else:  # which spacy-transformers can't read
            vectors = [tok2vec.ops.alloc2f(0, tok2vec.get_dim("nO")) for _ in docs]
            self._backprop = list
        xp = tok2vec.ops.xp
        # spacy-transformers' listener gives empty Docs vectors of no width.
        width = max(each.shape[1] for each in vectors)
        wanted = tok2vec.get_dim("nO") if tok2vec.has_dim("nO") else width
        if width not in (0, wanted):
            raise ValueError(Errors.F369.format(width=width, wanted=wanted))
        filled = [each for each in vectors if len(each)]
        # The first row is for characters in no token, such as single spaces between words.
        rows = xp.concatenate([xp.zeros((1, width), dtype="f"), *filled])
        self.vectors = xp2torch(rows, requires_grad=is_train, device=device)
        self._lengths = [len(rows) for rows in vectors]
        starts = np.cumsum([1, *self._lengths])
        in_characters = tok2vec.attrs.get("unit") == "char"
        if in_characters and unit == "token":
            raise ValueError(Errors.F367)
        row_of_unit = character_of_unit if in_characters else token_of_unit
        self.rows = [
            row_of_unit(doc, int(start), unit) for doc, start in zip(docs, starts, strict=False)
        ]
        if texts is not None and unit == "char":
            pairs = zip(self.rows, texts, strict=True)
            self.rows = [rows[text.starts] for rows, text in pairs]

    def of(self, segments: Sequence[Segment]) -> Tensor:
        """[B, C, D] features of the units of segments."""
        rows = [self.rows[each.text][each.start : each.end] for each in segments]
        places, present = padding(np.array([len(own) for own in rows]))
        return self.vectors[np.where(present, np.concatenate(rows)[places], 0)]

    def backprop(self) -> None:
        """Pass gradients, or zeros, to the tok2vec: a shared one waits for all of its listeners."""
        gathered = self.vectors.grad
        if gathered is None:
            gathered = self.vectors.new_zeros(self.vectors.shape)
        gradient = torch2xp(gathered, ops=self.tok2vec.ops)[1:]
        ends = np.cumsum(self._lengths).tolist()
        self._backprop(
            [gradient[end - n : end] for end, n in zip(ends, self._lengths, strict=True)]
        )


def backprop_zeros(tok2vec: Tok2Vec | None, docs: list[Doc]) -> None:
    """Pass zeros to a shared tok2vec for Docs that a component skips. Otherwise the gradients of
    its other listeners would be lost. Does nothing without a listener, or without tokens."""
    # Not all of spaCy's tok2vecs can backpropagate without tokens.
    if tok2vec is None or not any(len(doc) for doc in docs) or not is_awaited(tok2vec, docs):
        return
    vectors, backprop = tok2vec.begin_update(docs)
    backprop([tok2vec.ops.alloc2f(*each.shape) for each in vectors])


def is_awaited(tok2vec: Tok2Vec, docs: list[Doc]) -> bool:
    """Whether a listener, of spaCy or spacy-transformers, has vectors of these Docs to learn by."""
    return any(node._batch_id == node.get_batch_id(docs) for node in listeners(tok2vec))


def require_read(tok2vec: Tok2Vec, docs: Sequence[Doc]) -> None:
    """Raises ValueError (F366) for a Doc without the vectors that a listener reads in prediction,
    for which it would return zeros."""
    for node in listeners(tok2vec):
        is_spacys = isinstance(node, Tok2VecListener)
        for doc in docs:
            read = (
                doc.tensor.size if is_spacys else doc.has_extension("trf_data") and doc._.trf_data
            )
            if len(doc) and not read:
                kind = "tok2vec" if is_spacys else "transformer"
                raise ValueError(Errors.F366.format(kind=kind, text=doc.text[:40]))


def keep_vectors(tok2vec: Tok2Vec | None, docs: Sequence[Doc]) -> None:
    """Save `doc.vector` of Docs that a transformer has read: after a `doc_cleaner`, which sets
    `doc.tensor` to None, spaCy fails to compute it."""
    if tok2vec is None or all(isinstance(each, Tok2VecListener) for each in listeners(tok2vec)):
        return
    for doc in docs:
        if doc.tensor is not None and not doc.vocab.vectors.size:  # averages of those are slow
            doc.vector = doc.vector


def listeners(tok2vec: Tok2Vec) -> list[Any]:
    """The nodes that listen to a shared component."""
    return [node for node in tok2vec.walk() if hasattr(node, "get_batch_id")]


def token_of_unit(doc: Doc, first: int, unit: Unit) -> Ints:
    """[units] `first` + the number of each unit's token; 0 for none."""
    if unit == "token":
        return first + np.arange(len(doc))
    starts, ends = token_ends(doc)
    places = np.arange(len(doc.text))
    tokens = np.searchsorted(starts, places, "right") - 1
    return np.where(places < ends[tokens], first + tokens, 0)


def character_of_unit(doc: Doc, first: int, unit: Unit = "char") -> Ints:
    """[characters] `first` + their numbers among those of tokens; 0 for those in none."""
    inside = token_of_unit(doc, 1, "char") > 0
    return np.where(inside, first - 1 + np.cumsum(inside), 0)
