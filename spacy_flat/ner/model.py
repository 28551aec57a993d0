"""Docs → batches → torch → emissions of tags: what the registered architectures share."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from spacy.tokens import Doc
from thinc.api import Model

from ..text.batches import SegmentFeaturiser
from ..text.initialise import shim_of, tok2vec_of
from ..text.segments import split_texts
from ..text.tok2vec import Tok2VecFeatures
from ..text.units import Units
from .emissions import BatchEmissions, Emissions

if TYPE_CHECKING:
    from .network import TaggingNetwork

TaggingModel = Model[list[Doc], Emissions]


def forward(
    model: TaggingModel, docs: list[Doc], is_train: bool
) -> tuple[Emissions, Callable[[object], list[Any]]]:
    """A batch is computed when its turn comes, so that no more than one is in memory; in training
    too, if the loss of each goes backward before the next one's turn.

    The callback passes the gradients that gathered meanwhile on to a tok2vec.
    """
    featuriser: SegmentFeaturiser = model.attrs["featuriser"]
    device = shim_of(model).device
    is_twice = is_train and network_of(model).r_drop > 0
    upstream = Tok2VecFeatures(tok2vec_of(model), featuriser.unit, docs, is_train, device)
    texts = [Units.of(doc, featuriser.unit) for doc in docs]
    segments = split_texts(texts, featuriser.options)  # type: ignore[attr-defined]

    def batches() -> Iterator[BatchEmissions]:
        shim = shim_of(model)
        for batch in featuriser.batches(texts, segments, is_train):
            with shim.training() if is_train else shim.predicting() as network:
                scores = network(batch, upstream.of(batch))
                again = network(batch, upstream.of(batch)) if is_twice else None
            yield BatchEmissions(batch, scores, again)

    def backprop(_: object) -> list[Any]:
        upstream.backprop()
        return []

    return Emissions(texts, segments, batches()), backprop


def network_of(model: TaggingModel) -> "TaggingNetwork":
    return cast("TaggingNetwork", shim_of(model).module)
