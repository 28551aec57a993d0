"""Docs → batches → emissions, and the gold tags that emissions are compared with.

Shapes: B segments, C units, K tags.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..nn.model import shim_of, tok2vec_of
from ..text.featuriser import SegmentFeaturiser
from ..text.tok2vec import Tok2VecFeatures
from ..text.units import Segment, Units, part_in, spans_in
from .batch import Batch
from .spans import Annotation
from .tags import TagSet, TagTarget

if TYPE_CHECKING:
    from torch import Tensor

    from .network import TaggingNetwork


class BatchEmissions(NamedTuple):
    """Scores [B, C, K] of the tags of a batch's units."""

    batch: Batch
    scores: "Tensor"


@dataclass(frozen=True)
class Emissions:
    """The scores of texts, batch by batch.

    segments: of all texts, in any order.
    batches: each is computed when its turn comes, once.
    """

    texts: Sequence[Units]
    segments: Sequence[Segment]
    batches: Iterator[BatchEmissions]


TaggingModel = Model[list[Doc], Emissions]


def predict(model: TaggingModel, docs: list[Doc]) -> Emissions:
    """Batches are computed one by one, so only one is in memory."""
    featuriser: SegmentFeaturiser = model.attrs["featuriser"]
    shim = shim_of(model)
    texts, segments = featuriser.read(docs)
    upstream = upstream_features(model, docs, texts, False)

    def batches() -> Iterator[BatchEmissions]:
        for batch in featuriser.batches(texts, segments):
            with shim.predicting() as network:
                scores = network(batch, upstream.of(batch.segments) if upstream else None)
            yield BatchEmissions(batch, scores)

    return Emissions(texts, segments, batches())


def upstream_features(
    model: TaggingModel, docs: list[Doc], texts: Sequence[Units], is_train: bool
) -> Tok2VecFeatures | None:
    """The vectors of the model's tok2vec; None without one, or without tokens."""
    tok2vec, unit, shim = tok2vec_of(model), model.attrs["featuriser"].unit, shim_of(model)
    if tok2vec is None or not any(len(doc) for doc in docs):
        return None
    return Tok2VecFeatures(tok2vec, unit, docs, is_train, shim.device, texts=texts)


def network_of(model: TaggingModel) -> "TaggingNetwork":
    return cast("TaggingNetwork", shim_of(model).module)


@dataclass(frozen=True)
class Gold:
    """The annotation of each segment, in units; `n_known` of them have known parts."""

    annotations: Mapping[Segment, Annotation]
    n_known: int

    @classmethod
    def of(
        cls, characters: Sequence[Annotation], texts: Sequence[Units], segments: Sequence[Segment]
    ) -> "Gold":
        """From the known annotation of the characters."""
        parts: list[list[Segment]] = [[] for _ in texts]
        for segment in segments:
            parts[segment.text].append(segment)
        annotations: dict[Segment, Annotation] = {}
        for text, given, own in zip(texts, characters, parts, strict=True):
            spans, unknown = text.from_characters(given.spans), text.touched(given.unknown)
            whole = given._replace(spans=spans, unknown=unknown)
            annotations.update(zip(own, split_annotation(whole, own), strict=True))
        n_known = sum(
            annotation.is_annotated(segment.end - segment.start)
            for segment, annotation in annotations.items()
        )
        return cls(annotations, n_known)

    def target(self, batch: Batch, tags: TagSet) -> TagTarget:
        """The tags of a batch. The loss is the mean over all `n_known` segments.

        Raises ValueError (F233) for a label that has no tags.
        """
        C = int(batch.n_units.max())
        allowed = np.zeros((len(batch.segments), C, len(tags)), dtype=np.bool_)
        known = np.zeros(len(batch.segments))
        for row, segment in enumerate(batch.segments):
            length = segment.end - segment.start
            spans, unknown, coarse = annotation = self.annotations[segment]
            known[row] = annotation.is_annotated(length)
            allowed[row, :length] = tags.allowed(spans, length, unknown, coarse)
        weights = (known / max(1, self.n_known)).astype(np.float32)
        return TagTarget(allowed, batch.n_units, weights)


def split_annotation(annotation: Annotation, segments: Sequence[Segment]) -> list[Annotation]:
    """The annotation of each segment of a text, counted from its start.

    An entity cut by the edge of a segment is unknown there if another segment has all of it.
    Otherwise its parts count as entities.
    """
    whole = {
        span
        for segment in segments
        for span in spans_in(annotation.spans, segment)
        if segment.start <= span.start and span.end <= segment.end
    }
    starts = np.array([span.start for span in annotation.unknown], dtype=np.int64)
    ends = np.array([span.end for span in annotation.unknown], dtype=np.int64)
    parts = []
    for segment in segments:
        here = np.flatnonzero((starts < segment.end) & (segment.start < ends))
        unknown = [part_in(annotation.unknown[number], segment) for number in here.tolist()]
        spans = []
        for span in spans_in(annotation.spans, segment):
            part = part_in(span, segment)
            if span in whole and part.end - part.start < span.end - span.start:
                unknown.append(part._replace(label=""))
            else:
                spans.append(part)
        parts.append(annotation._replace(spans=spans, unknown=unknown))
    return parts
