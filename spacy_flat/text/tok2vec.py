"""Vectors from upstream: those that a tok2vec makes of tokens or characters, for a text's units."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from thinc.api import Model, torch2xp, xp2torch
from thinc.types import Floats2d

from ..errors import Errors
from .batches import Batch
from .segments import Segment
from .units import Ints, Unit, token_ends

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Tok2Vec = Model[list[Doc], list[Floats2d]]


class Tok2VecFeatures:
    """The vectors of some Docs, and the gradient's way back. Without a tok2vec there are none.

    tok2vec: gives a vector a token; or, where its attribute "unit" is "char", one for each of the
        tokens' characters.
    device: of the network that reads them, which need not be the tok2vec's.
    vectors: those of each Doc, where the tok2vec has read them before; in prediction alone.

    Raises ValueError where it gives vectors of characters, but the units are tokens (F367), where
    it listens to another whose vectors have another width than the config says (F369), and in
    prediction where that one has not read the Docs (F366).
    """

    def __init__(
        self,
        tok2vec: Tok2Vec | None,
        unit: Unit,
        docs: list[Doc],
        is_train: bool,
        device: "torch.device",
        vectors: list[Floats2d] | None = None,
    ) -> None:
        self.tok2vec = tok2vec
        if tok2vec is None:
            return
        if not is_train:
            require_read(tok2vec, docs)
        if vectors is None:
            vectors, self._backprop = tok2vec(docs, is_train)
        xp = tok2vec.ops.xp
        # Of a Doc without tokens spacy-transformers' listener gives vectors of no width.
        width = max(each.shape[1] for each in vectors)
        _check_width(tok2vec, width)
        filled = [each for each in vectors if len(each)]
        # The first row is for characters that are in no token: single spaces between words.
        rows = xp.concatenate([xp.zeros((1, width), dtype="f"), *filled])
        self.vectors = xp2torch(rows, requires_grad=is_train, device=device)
        self._lengths = [len(rows) for rows in vectors]
        starts = np.cumsum([1, *self._lengths])
        row_of_unit = self._row_of_unit(tok2vec, unit)
        self._rows = [
            row_of_unit(doc, int(start), unit) for doc, start in zip(docs, starts, strict=False)
        ]

    @staticmethod
    def _row_of_unit(tok2vec: Tok2Vec, unit: Unit) -> Callable[[Doc, int, Unit], Ints]:
        if tok2vec.attrs.get("unit") != "char":
            return token_of_unit
        if unit == "token":
            raise ValueError(Errors.F367)
        return character_of_unit

    def of(self, batch: Batch) -> "Tensor | None":
        """[B, C, D] vectors of a batch's units, or None where there is no tok2vec."""
        if self.tok2vec is None:
            return None
        rows = np.zeros((len(batch.segments), int(batch.n_units.max())), dtype=np.int64)
        for place, segment in enumerate(batch.segments):
            piece = self._rows[segment.text][segment.start : segment.end]
            rows[place, : len(piece)] = piece
        return self.vectors[rows]

    def of_texts(self, segments: Sequence[Segment]) -> "Tensor | None":
        """[units, D] vectors of the units of segments, one after the other, or None where there is
        no tok2vec. One without units has one vector, of zeros."""
        if self.tok2vec is None:
            return None
        nothing = np.zeros(1, dtype=np.int64)
        rows = [
            self._rows[segment.text][segment.start : segment.end]
            if segment.end > segment.start
            else nothing
            for segment in segments
        ]
        return self.vectors[np.concatenate(rows)]

    def backprop(self) -> None:
        """Pass the gradients that have gathered in the vectors on to the tok2vec.

        Zeros where there are none: a shared tok2vec learns when the last of its listeners calls it,
        from what all have passed on.
        """
        if self.tok2vec is None:
            return
        gathered = self.vectors.grad
        if gathered is None:
            gathered = self.vectors.new_zeros(self.vectors.shape)
        gradient = torch2xp(gathered, ops=self.tok2vec.ops)[1:]
        ends = np.cumsum(self._lengths).tolist()
        self._backprop(
            [gradient[end - n : end] for end, n in zip(ends, self._lengths, strict=True)]
        )


def ask_for(unit: Unit, tok2vec: Tok2Vec | None) -> None:
    """Choose what a component's tok2vec, if it has one, gives vectors of, where there is a choice:
    `spacy-flat.Encoder.v1`, whose attribute "unit" is "token" at first, has those of characters
    too."""
    if tok2vec is not None and tok2vec.attrs.get("unit") == "token":
        tok2vec.attrs["unit"] = unit


def _check_width(tok2vec: Tok2Vec, width: int) -> None:
    wanted = tok2vec.get_dim("nO") if tok2vec.has_dim("nO") else width
    if width not in (0, wanted):
        raise ValueError(Errors.F369.format(width=width, wanted=wanted))


def backprop_zeros(tok2vec: Tok2Vec | None, docs: list[Doc]) -> None:
    """Answer a shared tok2vec that has read Docs from which a component learns nothing.

    It adds up the gradients that its listeners pass back, and learns when the last of them has:
    one that stayed silent would lose those of the others. Where nothing is listened to, or there
    are no tokens, nothing happens.
    """
    # Not all tok2vecs of spaCy's can backpropagate through nothing.
    if tok2vec is None or not any(len(doc) for doc in docs) or not _is_awaited(tok2vec, docs):
        return
    vectors, backprop = tok2vec.begin_update(docs)
    backprop([tok2vec.ops.alloc2f(*each.shape) for each in vectors])


def _is_awaited(tok2vec: Tok2Vec, docs: list[Doc]) -> bool:
    """Whether a listener in it has been given the vectors of these Docs. By what spaCy's and
    spacy-transformers' have in common, as the latter need not be installed."""
    return any(node._batch_id == node.get_batch_id(docs) for node in _listeners(tok2vec))


def require_read(tok2vec: Tok2Vec, docs: Sequence[Doc]) -> None:
    """Raises ValueError (F366) for a Doc without the vectors that a listener takes from it in
    prediction: the listeners of spaCy and spacy-transformers would return zeros."""
    for node in _listeners(tok2vec):
        is_spacys = isinstance(node, Tok2VecListener)
        for doc in docs:
            if len(doc) and (not doc.tensor.size if is_spacys else doc._.trf_data is None):
                raise ValueError(Errors.F366.format(text=doc.text[:40]))


def _listeners(tok2vec: Tok2Vec) -> list[Any]:
    return [node for node in tok2vec.walk() if hasattr(node, "get_batch_id")]


class ReadOnce:
    """Lets a tok2vec read a Doc once that several batches, one after the other, have in common.

    It keeps the vectors of the last batch's Docs, and belongs to one task, such as the encoding of
    an index: what a Doc or the tok2vec has become since then it does not notice.
    """

    def __init__(self, tok2vec: Tok2Vec | None) -> None:
        self.tok2vec = tok2vec
        self._known: dict[int, tuple[Doc, Floats2d]] = {}  # by the id of the Doc

    def token_vectors(self, docs: list[Doc]) -> list[Floats2d] | None:
        """The vectors of the tokens of each Doc, or None where there is no tok2vec."""
        if self.tok2vec is None:
            return None
        new = [doc for doc in docs if id(doc) not in self._known]
        read = zip(new, self.tok2vec.predict(new) if new else [], strict=True)
        known = {**self._known, **{id(doc): (doc, vectors) for doc, vectors in read}}
        self._known = {id(doc): known[id(doc)] for doc in docs}
        return [known[id(doc)][1] for doc in docs]


def token_of_unit(doc: Doc, first: int, unit: Unit) -> Ints:
    """[units] `first` + the number of each unit's token; 0 where it has none."""
    if unit == "token":
        return first + np.arange(len(doc))
    starts, ends = token_ends(doc)
    places = np.arange(len(doc.text))
    tokens = np.searchsorted(starts, places, "right") - 1
    return np.where(places < ends[tokens], first + tokens, 0)


def character_of_unit(doc: Doc, first: int, unit: Unit = "char") -> Ints:
    """[characters] `first` + the number of each one among those of tokens; 0 if it is in none."""
    inside = token_of_unit(doc, 1, "char") > 0
    return np.where(inside, first - 1 + np.cumsum(inside), 0)
