"""Docs → batches → torch → emissions of tags: what the registered architectures share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from spacy.tokens import Doc
from thinc.api import Model

from ..nn.model import shim_of, tok2vec_of
from ..text.batches import SegmentFeaturiser
from ..text.tok2vec import Tok2VecFeatures
from .emissions import BatchEmissions, Emissions

if TYPE_CHECKING:
    from .network import TaggingNetwork

TaggingModel = Model[list[Doc], Emissions]


def predict(model: TaggingModel, docs: list[Doc]) -> Emissions:
    """Each batch is computed when its turn comes, so that only one is in memory."""
    featuriser: SegmentFeaturiser = model.attrs["featuriser"]
    shim = shim_of(model)
    upstream = Tok2VecFeatures(tok2vec_of(model), featuriser.unit, docs, False, shim.device)
    texts, segments = featuriser.read(docs)

    def batches() -> Iterator[BatchEmissions]:
        for batch in featuriser.batches(texts, segments):
            with shim.predicting() as network:
                scores = network(batch, upstream.of(batch))
            yield BatchEmissions(batch, scores)

    return Emissions(texts, segments, batches())


def network_of(model: TaggingModel) -> "TaggingNetwork":
    return cast("TaggingNetwork", shim_of(model).module)
