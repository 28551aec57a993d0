"""Docs → batches → emissions, and the gold tags that emissions are compared with.

Shapes: B segments, C units, K tags.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from torch import Tensor

from ..nn.crf import TeacherScores
from ..nn.shim import shim_of, tok2vec_of
from ..text.batches import padding
from ..text.featuriser import SegmentFeaturiser
from ..text.segments import Segment, part_in, spans_in
from ..text.spans import EntitySpan, Units
from ..text.tok2vec import Tok2VecFeatures
from ..util.arrays import Bools
from .batch import Batch
from .network import TaggingNetwork
from .spans import Annotation
from .tags import TagSet, TagTarget


class BatchEmissions(NamedTuple):
    """Scores [B, C, K] of the tags of a batch's units."""

    batch: Batch
    scores: Tensor


@dataclass(frozen=True)
class Emissions:
    """The scores of texts, batch by batch.

    segments: of all texts, in any order.
    batches: each is computed when its turn comes, once.
    """

    texts: Sequence[Units]
    segments: Sequence[Segment]
    batches: Iterable[BatchEmissions]


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


def network_of(model: TaggingModel) -> TaggingNetwork:
    return cast(TaggingNetwork, shim_of(model).module)


@dataclass(frozen=True)
class Gold:
    """The tags [C, K] that agree with each segment's annotation; `n_known` segments have some."""

    allowed: Mapping[Segment, Bools]
    n_known: int
    has_teacher: bool = False

    @classmethod
    def of(
        cls,
        annotations: Sequence[Annotation],
        texts: Sequence[Units],
        segments: Sequence[Segment],
        tags: TagSet,
        has_teacher: bool = False,
    ) -> "Gold":
        """From the annotation of each text's characters. has_teacher: a teacher knows the rest.

        Raises ValueError (F233) for a label that has no tags.
        """
        spans, tables = [], []
        for text, given in zip(texts, annotations, strict=True):
            unknown = text.touched(given.unknown)
            spans.append(text.from_characters(given.spans))
            tables.append(tags.allowed(spans[-1], len(text), unknown, given.coarse))
        allowed = {
            segment: _within(segment, spans[segment.text], tables[segment.text])
            for segment in segments
        }
        n_known = sum(has_teacher or not each.all() for each in allowed.values())
        return cls(allowed, n_known, has_teacher)

    def target(self, batch: Batch) -> TagTarget:
        """The tags of a batch. The loss is the mean over all `n_known` segments."""
        tables = [self.allowed[segment] for segment in batch.segments]
        places, present = padding(batch.n_units)
        allowed = np.concatenate(tables)[places] & present[:, :, None]
        known = np.array([self.has_teacher or not table.all() for table in tables])
        return TagTarget(allowed, batch.n_units, (known / max(1, self.n_known)).astype(np.float32))


def teacher_scores(
    batch: Batch, target: TagTarget, teacher: TaggingModel, upstream: Tok2VecFeatures | None
) -> TeacherScores | None:
    """A teacher's scores of a batch, or None if the target leaves no tag open."""
    inside = np.arange(target.allowed.shape[1]) < target.lengths[:, None]
    if (target.allowed.sum(2) == 1)[inside].all():
        return None
    with shim_of(teacher).predicting():
        scores = network_of(teacher)(batch, upstream.of(batch.segments) if upstream else None)
    return TeacherScores(network_of(teacher).crf, scores)


def _within(segment: Segment, spans: Sequence[EntitySpan], allowed: Bools) -> Bools:
    """The allowed tags of a segment. An entity that it cuts is unknown there."""
    own = allowed[segment.start : segment.end]
    for span in spans_in(spans, segment):
        if span.start < segment.start or segment.end < span.end:
            part = part_in(span, segment)
            own = own.copy()
            own[part.start : part.end] = True
    return own
