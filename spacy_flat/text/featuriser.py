"""Featurisers turn texts into padded batches of numbers."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
import srsly
from spacy.tokens import Doc
from thinc.model import Model, deserialize_attr, serialize_attr

from .batches import Ragged
from .scripts import Simplifier
from .segments import Segment, split_texts
from .spans import Unit, Units
from .vocabulary import TableVocab, hash_bigrams, hash_characters, pack, unpack

Self = TypeVar("Self", bound="TextFeaturiser")
Compacted = TypeVar("Compacted", bound="SegmentFeaturiser")


class TextFeaturiser:
    """Turns texts into batches: a dataclass that is an attribute of a thinc `Model` and is saved
    with it, but for its options, which are in the config."""

    options: Any

    def to_bytes(self) -> bytes:
        """The vocabularies and the simplifier."""
        vocabs = {name: each for name, each in vars(self).items() if isinstance(each, TableVocab)}
        data = {**pack(vocabs, self.options), "simplified": cast(Any, self).simplifier.pairs}
        return bytes(srsly.msgpack_dumps(data))

    def from_bytes(self: Self, data: bytes) -> Self:
        """A new featuriser with these options and that data. Raises ValueError (F307) if the
        options differ from those of the training."""
        saved = srsly.msgpack_loads(data)
        own = {**unpack(saved, self.options), "simplifier": Simplifier(saved.get("simplified", ""))}
        return cast(Self, replace(cast(Any, self), **own))


class SegmentFeaturiser(TextFeaturiser):
    """Turns segments of texts into batches."""

    chars: TableVocab
    bigrams: TableVocab

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """What the texts are made of."""

    def read(self, docs: Iterable[Doc]) -> tuple[list[Units], list[Segment]]:
        """The units of Docs, and the segments that they are split into."""
        texts = [Units.as_read(doc, self.unit) for doc in docs]
        return texts, split_texts(texts, self.options.max_length)

    @abstractmethod
    def batches(
        self, texts: Sequence[Units], segments: Sequence[Segment], is_train: bool = False
    ) -> Iterator[Any]:
        """Batches of similar segments, of at most `batch_size` nodes with padding, or of one."""

    def characters(self, pieces: Sequence[str], simplifier: Simplifier) -> Ragged:
        """The ids of characters and bigrams."""
        counts = np.array([len(piece) for piece in pieces], dtype=np.int64)
        codes = hash_characters(simplifier("".join(pieces)), self.options.normalise_numbers)
        bigrams = hash_bigrams(codes, np.cumsum(counts)[counts > 0] - 1)
        columns = {"chars": self.chars.look_up(codes), "bigrams": self.bigrams.look_up(bigrams)}
        return Ragged(counts, columns)

    def compact(self: Compacted, vocabs: Mapping[str, TableVocab]) -> Compacted:
        """The same with smaller vocabularies."""
        return cast(Compacted, replace(cast(Any, self), **vocabs))


@serialize_attr.register(TextFeaturiser)
def _serialize(_: Any, value: TextFeaturiser, name: str, model: Model[Any, Any]) -> bytes:
    return value.to_bytes()


@deserialize_attr.register(TextFeaturiser)
def _deserialize(
    default: TextFeaturiser, value: bytes, name: str, model: Model[Any, Any]
) -> TextFeaturiser:
    return default.from_bytes(value)
