"""Entities for correction: Docs, or what `flat annotate` has written, in formats that annotation
tools read and `convert` reads again."""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..ner import spans as _extensions  # noqa: F401  (span._.confidence)
from ..util.files import replacing
from ..util.options import require_installed
from .columns import TAG
from .docs import entities_of, read_docs

Found = tuple[str, str, list[dict[str, Any]]]  # id, text, and entities as `entities_of` has them


def read_found(path: Path) -> Iterator[Found]:
    """Yield the texts of a `.spacy` file, or of a folder of `flat annotate` without those that
    failed. Warns (W165) of parts that aren't annotated. Raises as `read_docs`, and ValueError
    (F010) for a folder without rows."""
    if not path.is_dir():
        docs = read_docs(path, Vocab())
        if n := sum(any(not token.ent_iob for token in doc) for doc in docs):
            warnings.warn(Warnings.W165.format(path=path, n=n), stacklevel=2)
        for number, doc in enumerate(docs, 1):
            yield str(number), doc.text, entities_of(doc)
        return
    require_installed("Reading annotated rows", "pyarrow", "pyarrow")
    import pyarrow.parquet as pq

    files = sorted((path / "rows").glob("[!.]*.parquet"))
    if not files:
        raise ValueError(Errors.F010.format(path=path, what="row"))
    for file in files:
        columns = ["id", "text", "entities", "error"]
        for row in pq.read_table(file, columns=columns).to_pylist():
            if row["error"] is None:
                yield row["id"], row["text"], row["entities"]


def to_doccano(id: str, text: str, entities: list[dict[str, Any]]) -> str:
    marked = [
        {"start_offset": e["start"], "end_offset": e["end"], "label": e["label"], "text": e["text"]}
        | ({"confidence": e["confidence"]} if e["confidence"] is not None else {})
        for e in entities
    ]
    return json.dumps({"id": id, "text": text, "label": marked}, ensure_ascii=False) + "\n"


def to_label_studio(id: str, text: str, entities: list[dict[str, Any]]) -> str:
    region = {"from_name": "label", "to_name": "text", "type": "labels"}
    results = []
    for e in entities:
        value = {"start": e["start"], "end": e["end"], "text": e["text"], "labels": [e["label"]]}
        results.append(region | {"value": value, "score": e["confidence"]})
    task = {"data": {"id": id, "text": text}, "predictions": [{"result": results}]}
    return json.dumps(task, ensure_ascii=False)


def to_bio(id: str, text: str, entities: list[dict[str, Any]]) -> str:
    """The characters with their tags, and between them the confidence of entities that have one.
    Raises ValueError (F112) for what columns can't hold."""
    odd = [e["label"] for e in entities if not TAG.fullmatch(f"B-{e['label']}")]
    if odd := odd + [char for char in "\n\r\t\ufeff" if char in text]:
        raise ValueError(Errors.F112.format(id=id, odd=odd[0]))
    rows = [[char, "_", "O"] for char in text]
    for e in entities:
        share = "_" if e["confidence"] is None else f"{e['confidence']:.3f}"
        for at in range(e["start"], e["end"]):
            rows[at][1:] = share, f"{'BI'[at > e['start']]}-{e['label']}"
    step = 1 if any(e["confidence"] is not None for e in entities) else 2
    return "".join("\t".join(row[::step]) + "\n" for row in rows) + "\n"


# How a text is written, and what stands before, between and after texts.
Writer = Callable[[str, str, list[dict[str, Any]]], str]
WRITERS: dict[str, tuple[Writer, str, str, str]] = {
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
        file.write(before)
        for n, each in enumerate(found, 1):
            file.write(between * (n > 1) + write(*each))
        file.write(after)
    return n
