"""Components of the tests' pipelines, which actors import with --code."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

Doc.set_extension("length", default=None, force=True)
Doc.set_extension("parts", getter=lambda doc: [(doc.text[:1], np.float32(1.5))], force=True)
Doc.set_extension("odd", default=None, force=True)
Doc.set_extension("nothing", default=None, force=True)


@Language.factory("troublesome", default_config={"notes": ""})
class Troublesome:
    """Fails where the text says so, or notes its process and dies."""

    def __init__(self, nlp: Language, name: str, notes: str) -> None:
        self.notes = notes

    def __call__(self, doc: Doc) -> Doc:
        if "坏" in doc.text:
            raise ValueError(f"no {doc.text}")
        if "死" in doc.text:
            (Path(self.notes) / str(os.getpid())).touch()
            os._exit(1)
        if "类" in doc.text:
            doc.cats = {"a": 10**400}  # type: ignore[dict-item]
        if "半" in doc.text:
            doc.cats = {"\ud800": 1.0}
        if "怪" in doc.text:
            doc._.odd = object()
        doc._.length = len(doc.text)
        doc.cats = {**doc.cats, "long": float(len(doc.text) > 6)}
        return doc

    def pipe(self, docs: Iterable[Doc], batch_size: int) -> Iterator[Doc]:
        """Leaves some out."""
        return (self(doc) for doc in docs if "漏" not in doc.text)
