"""Featurisers turn texts into padded batches of numbers."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import srsly
from spacy.tokens import Doc
from thinc.model import Model, deserialize_attr, serialize_attr

from ..util.simplified import Simplifier
from .padding import Batch
from .segments import Segment, split_texts
from .units import Unit, Units
from .vocabulary import TableVocab, pack, unpack

Self = TypeVar("Self", bound="TextFeaturiser")
Indexed = TypeVar("Indexed", bound="IndexedFeaturiser")
Compacted = TypeVar("Compacted", bound="SegmentFeaturiser")


class TextFeaturiser(ABC):
    """Turns texts into batches. An attribute of a thinc `Model`, saved with it."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Without the options, which are in the config."""

    @abstractmethod
    def from_bytes(self: Self, data: bytes) -> Self:
        """A new featuriser with these options and that data."""


class IndexedFeaturiser(TextFeaturiser):
    """A dataclass of which the vocabularies and the simplifier are saved."""

    options: Any
    simplifier: Simplifier

    def to_bytes(self) -> bytes:
        vocabs = {name: each for name, each in vars(self).items() if isinstance(each, TableVocab)}
        data = {**pack(vocabs, self.options), "simplified": self.simplifier.pairs}
        return bytes(srsly.msgpack_dumps(data))

    def from_bytes(self: Indexed, data: bytes) -> Indexed:
        saved = srsly.msgpack_loads(data)
        own = {**unpack(saved, self.options), "simplifier": Simplifier(saved.get("simplified", ""))}
        return cast(Indexed, replace(cast(Any, self), **own))


class SegmentFeaturiser(TextFeaturiser):
    """Turns segments of texts into batches."""

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """What the texts are made of."""

    def read(self, docs: Iterable[Doc]) -> tuple[list[Units], list[Segment]]:
        """The units of Docs, and the segments that they are split into."""
        texts = [Units.as_read(doc, self.unit) for doc in docs]
        return texts, split_texts(texts, self.options)  # type: ignore[attr-defined]

    @abstractmethod
    def batches(
        self, texts: Sequence[Units], segments: Sequence[Segment], is_train: bool = False
    ) -> Iterator[Batch]:
        """Batches of segments of similar size, of at most `batch_size` nodes with padding, or of
        one segment."""

    def compact(self: Compacted, vocabs: Mapping[str, TableVocab], known_words: bool) -> Compacted:
        """The same with smaller vocabularies. known_words: for a featuriser with a lexicon."""
        return cast(Compacted, replace(cast(Any, self), **vocabs))


@serialize_attr.register(TextFeaturiser)
def _serialize(_: Any, value: TextFeaturiser, name: str, model: Model[Any, Any]) -> bytes:
    return value.to_bytes()


@deserialize_attr.register(TextFeaturiser)
def _deserialize(
    default: TextFeaturiser, value: bytes, name: str, model: Model[Any, Any]
) -> TextFeaturiser:
    return default.from_bytes(value)
