"""Featurisers turn texts into padded batches of numbers.

Shapes: B segments.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from spacy.tokens import Doc
from thinc.model import Model, deserialize_attr, serialize_attr

from .segments import Segment, split_texts
from .units import Ints, Unit, Units
from .vocabulary import KeyIndex

BATCH_PAIRS = 50_000  # pairs of nodes that cost as much as the overhead of a batch

Self = TypeVar("Self", bound="TextFeaturiser")
Compacted = TypeVar("Compacted", bound="SegmentFeaturiser")


class Batch(Protocol):
    """Some segments as numbers."""

    @property
    def segments(self) -> Sequence[Segment]: ...

    @property
    def n_units(self) -> Ints:
        """[B] units of each segment."""


class TextFeaturiser(ABC):
    """Turns texts into batches. An attribute of a thinc `Model`, saved with it."""

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """What the texts are made of."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Without the options, which are in the config."""

    @abstractmethod
    def from_bytes(self: Self, data: bytes) -> Self:
        """A new featuriser with these options and that data."""


class SegmentFeaturiser(TextFeaturiser):
    """Turns segments of texts into batches."""

    def read(self, docs: Iterable[Doc]) -> tuple[list[Units], list[Segment]]:
        """The units of Docs, and the segments that they are split into."""
        texts = [Units.of(doc, self.unit) for doc in docs]
        return texts, split_texts(texts, self.options)  # type: ignore[attr-defined]

    @abstractmethod
    def batches(
        self, texts: Sequence[Units], segments: Sequence[Segment], is_train: bool = False
    ) -> Iterator[Batch]:
        """Batches of segments of similar size, of at most `batch_size` nodes with padding, or of
        one segment."""

    def compact(self: Compacted, indexes: Mapping[str, KeyIndex], known_words: bool) -> Compacted:
        """The same with smaller indexes. known_words: for a featuriser with a lexicon."""
        return cast(Compacted, replace(cast(Any, self), **indexes))


def group_by_cost(order: Ints, n_units: Ints, n_words: Ints, max_nodes: int) -> Iterator[Ints]:
    """Divide segments, in this order, into batches of at most `max_nodes` nodes with padding, and
    where computing the padding would cost more than another batch.

    n_words: [B] nodes in addition to the units.
    """
    start = 0
    units = words = pairs = 0
    for place, row in enumerate(order):
        own_units, own_words = int(n_units[row]), int(n_words[row])
        units, words = max(units, own_units), max(words, own_words)
        pairs += own_units * (own_units + own_words)
        padded_nodes = (place + 1 - start) * (units + words)
        pads = padded_nodes * units - pairs
        if place > start and (padded_nodes > max_nodes or pads > pairs // 2 + BATCH_PAIRS):
            yield order[start:place]
            start, units, words = place, own_units, own_words
            pairs = own_units * (own_units + own_words)
    yield order[start:]


@serialize_attr.register(TextFeaturiser)
def _serialize_encoder(_: Any, value: TextFeaturiser, name: str, model: Model[Any, Any]) -> bytes:
    return value.to_bytes()


@deserialize_attr.register(TextFeaturiser)
def _deserialize_encoder(
    default: TextFeaturiser, value: bytes, name: str, model: Model[Any, Any]
) -> TextFeaturiser:
    return default.from_bytes(value)
