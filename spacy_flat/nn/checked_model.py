"""A thinc `Model` that notices damage to what was saved of it."""

import zlib
from typing import Any, TypeVar

from thinc.model import Model

from ..errors import Errors

InT = TypeVar("InT")
OutT = TypeVar("OutT")

MAGIC = b"spacy-flat.model.v1\n"
PACKED = b"spacy-flat.model.v1.zlib\n"
SIZE = 4  # bytes of a checksum


class CheckedModel(Model[InT, OutT]):
    """Saved with a checksum over all of it: weights, vocabularies, lexicon, and the layers below.

    A flipped bit in a weight would otherwise go unnoticed, and one elsewhere end in an error of
    some library that says nothing to a user.

    Packed with zlib where `attrs["packed"]` says so, as in a compact pipeline.
    """

    __slots__ = ()

    def to_bytes(self) -> bytes:
        """As thinc's, after a checksum."""
        data = super().to_bytes()
        magic = MAGIC
        if self.attrs.get("packed"):
            magic, data = PACKED, zlib.compress(data)
        return magic + zlib.crc32(data).to_bytes(SIZE, "little") + data

    def from_bytes(self, bytes_data: bytes) -> "CheckedModel[InT, OutT]":
        """Load what `to_bytes` gave.

        Raises ValueError (F200) for damaged or other data.
        """
        magic = PACKED if bytes_data.startswith(PACKED) else MAGIC
        start = len(magic)
        if not bytes_data.startswith(magic):
            raise ValueError(Errors.F200.format(reason="it does not begin as one"))
        data = memoryview(bytes_data)[start + SIZE :]
        if zlib.crc32(data) != int.from_bytes(bytes_data[start : start + SIZE], "little"):
            raise ValueError(Errors.F200.format(reason="its checksum differs"))
        super().from_bytes(zlib.decompress(data) if magic == PACKED else bytes(data))
        return self

    def from_dict(self, msg: dict[str, Any]) -> "CheckedModel[InT, OutT]":
        """Load what `to_dict` gave, of 0.1 too, which named the featuriser "encoder"."""
        for node, attrs in zip(self.walk(), msg["attrs"], strict=False):
            if "featuriser" in node.attrs and "encoder" in attrs:
                attrs["featuriser"] = attrs.pop("encoder")
        super().from_dict(msg)
        return self

    def _copy(self, seen: dict[int, Any] | None = None) -> "CheckedModel[InT, OutT]":
        # thinc makes a plain `Model` of every copy.
        copied: Any = super()._copy(seen)
        copied.__class__ = type(self)
        return copied  # type: ignore[no-any-return]
