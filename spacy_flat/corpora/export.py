"""Entities for correction: Docs, or what `flat annotate` has written, in formats that annotation
tools read and `convert` reads again."""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..ner import spans as _extensions  # noqa: F401  (span._.confidence)
from ..util.files import replacing
from ..util.options import require_installed
from .columns import TAG
from .docs import entities_of, read_docs


class Found(NamedTuple):
    """A text with its entities, as `entities_of` has them."""

    id: str
    text: str
    entities: list[dict[str, Any]]


def read_found(path: Path) -> Iterator[Found]:
    """Yield the texts of a `.spacy` file, or of a folder of `flat annotate` without those that
    failed. Warns (W165) of parts that aren't annotated. Raises as `read_docs`, and ValueError
    (F010) for a folder without rows."""
    if not path.is_dir():
        docs = read_docs(path, Vocab())
        if n := sum(any(not token.ent_iob for token in doc) for doc in docs):
            warnings.warn(Warnings.W165.format(path=path, n=n), stacklevel=2)
        for number, doc in enumerate(docs, 1):
            yield Found(str(number), doc.text, entities_of(doc))
        return
    require_installed("Reading annotated rows", "pyarrow", "pyarrow")
    import pyarrow.parquet as pq

    files = sorted((path / "rows").glob("[!.]*.parquet"))
    if not files:
        raise ValueError(Errors.F010.format(path=path, what="row"))
    for file in files:
        columns = [*Found._fields, "error"]
        for row in pq.read_table(file, columns=columns).to_pylist():
            if row.pop("error") is None:
                yield Found(**row)


def to_doccano(found: Found) -> str:
    entities = []
    for e in found.entities:
        own = {"start_offset": e["start"], "end_offset": e["end"], "label": e["label"]}
        entities.append(own | {key: e[key] for key in ("text", "confidence") if e[key] is not None})
    record = {"id": found.id, "text": found.text, "label": entities}
    return json.dumps(record, ensure_ascii=False) + "\n"


def to_label_studio(found: Found) -> str:
    results = [
        {
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {key: e[key] for key in ("start", "end", "text")} | {"labels": [e["label"]]},
        }
        | ({"score": e["confidence"]} if e["confidence"] is not None else {})
        for e in found.entities
    ]
    data = {"id": found.id, "text": found.text}
    return json.dumps({"data": data, "predictions": [{"result": results}]}, ensure_ascii=False)


def to_bio(found: Found) -> str:
    """The characters with their tags, and between them the confidence of entities that have one.
    Raises ValueError (F112) for what columns can't hold."""
    odd = [e["label"] for e in found.entities if not TAG.fullmatch(f"B-{e['label']}")]
    odd += [char for char in "\n\r\t\ufeff" if char in found.text]
    if odd:
        raise ValueError(Errors.F112.format(id=found.id, odd=odd[0]))
    scored = any(e["confidence"] is not None for e in found.entities)
    lines = [f"{char}\t{'_' + chr(9) if scored else ''}O\n" for char in found.text]
    for e in found.entities:
        share = f"{e['confidence']:.3f}\t" if e["confidence"] is not None else "_\t" * scored
        for at in range(e["start"], e["end"]):
            lines[at] = f"{found.text[at]}\t{share}{'BI'[at > e['start']]}-{e['label']}\n"
    return "".join(lines) + "\n" * bool(lines)


# How a text is written, and what stands before, between and after texts.
WRITERS: dict[str, tuple[Callable[[Found], str], str, str, str]] = {
    "doccano": (to_doccano, "", "", ""),
    "label-studio": (to_label_studio, "[\n", ",\n", "\n]\n"),
    "bio": (to_bio, "", "", ""),
}


def write_found(path: Path, form: str, found: Iterable[Found]) -> int:
    """Write texts in a format. Returns their number. Raises ValueError for an unknown format (F118)
    and as the writers; the file is then left as it was."""
    if form not in WRITERS:
        words = {"what": "format", "name": form, "names": ", ".join(WRITERS)}
        raise ValueError(Errors.F118.format(**words))
    write, before, between, after = WRITERS[form]
    n = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for n, each in enumerate(found, 1):
            file.write((between if n > 1 else before) + write(each))
        file.write(after if n else before + after)
    return n
