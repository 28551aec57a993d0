"""Rows of input and output, and failed rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import Errors

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

TYPES = {"text": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}

ENTITY = pa.struct(
    [
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("label", pa.string()),
        ("text", pa.string()),
        ("confidence", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Row:
    """A row of the input.

    id: given, or made of file and line. line: from 1. doc: if the input has Docs.
    """

    id: str
    line: int
    text: str
    doc: Doc | None = None

    def content(self) -> str | Doc:
        """What to annotate: a copy of a Doc, as the pipeline may fail."""
        return self.text if self.doc is None else self.doc.copy()


@dataclass(frozen=True)
class Failure:
    """A row that was not annotated. id: None if it has none, or was unreadable."""

    id: str | None
    file: str
    line: int
    reason: str

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=True).encode() + b"\n"


@dataclass(frozen=True)
class Attribute:
    """A `doc._` attribute with the type of its column."""

    name: str
    type: str

    @classmethod
    def parse(cls, text: str) -> Attribute:
        """Read "NAME" or "NAME:TYPE".

        Raises ValueError for an unknown type (F118), and for the name of another column
        (F479).
        """
        name, _, type = text.partition(":")
        if name in ("id", "text", "entities", "cats"):
            raise ValueError(Errors.F479.format(name=name))
        if (type or "text") not in TYPES:
            words = {"what": "type", "name": type, "names": ", ".join(TYPES)}
            raise ValueError(Errors.F118.format(**words))
        return cls(name, type or "text")

    def value(self, doc: Doc) -> Any:
        """The value for the column. Columns of text hold other values as JSON.

        Raises ValueError (F478) for a value that the column can't hold.
        """
        value = doc._.get(self.name)
        if value is None or (isinstance(value, str) and self.type == "text"):
            return value
        try:
            if self.type == "text":
                return json.dumps(value, ensure_ascii=False, default=lambda each: each.tolist())
            scalar = pa.scalar(value, TYPES[self.type]).as_py()
            if self.type == "int" and scalar != value:
                raise ValueError(f"{value} is not whole")
            return scalar
        except (AttributeError, TypeError, ValueError, pa.ArrowException) as error:
            message = Errors.F478.format(name=self.name, type=self.type, reason=error)
            raise ValueError(message) from error


def parse_attributes(texts: Sequence[str]) -> list[Attribute]:
    """Errors as in `Attribute.parse`, and for repeated names."""
    attributes = {}
    for attribute in map(Attribute.parse, texts):
        if attribute.name in attributes:
            raise ValueError(Errors.F479.format(name=attribute.name))
        attributes[attribute.name] = attribute
    return list(attributes.values())


def schema_of(attributes: Sequence[Attribute]) -> pa.Schema:
    """The columns of all shards."""
    return pa.schema(
        [
            ("id", pa.string()),
            ("text", pa.string()),
            ("entities", pa.list_(ENTITY)),
            ("cats", pa.map_(pa.string(), pa.float64())),
            *((attribute.name, TYPES[attribute.type]) for attribute in attributes),
        ]
    )


def record_of(id: str, doc: Doc, attributes: Sequence[Attribute]) -> dict[str, Any]:
    """A row of the output, with character offsets. Raises ValueError (F478) as `value`."""
    return {
        "id": id,
        "text": doc.text,
        "entities": [
            {
                "start": ent.start_char,
                "end": ent.end_char,
                "label": ent.label_,
                "text": ent.text,
                "confidence": confidence_of(ent),
            }
            for ent in doc.ents
        ],
        "cats": list(doc.cats.items()),
        **{attribute.name: attribute.value(doc) for attribute in attributes},
    }


def confidence_of(ent: Span) -> float | None:
    """The probability of an entity, if its component computes it."""
    share: float | None = ent._.confidence if ent.has_extension("confidence") else None
    return share
