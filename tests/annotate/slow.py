"""Components of the tests' pipelines, which actors import with --code."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

Doc.set_extension("length", default=None, force=True)
Doc.set_extension("length_twice", getter=lambda doc: 2 * doc._.length, force=True)
Doc.set_extension("parts", getter=lambda doc: [(doc.text[:1], np.float32(1.5))], force=True)
Doc.set_extension("half", getter=lambda doc: doc._.length / 2, force=True)
Doc.set_extension("odd", default=None, force=True)
Doc.set_extension("nothing", default=None, force=True)


@Language.factory("troublesome", default_config={"notes": "", "seconds": 0.0})
class Troublesome:
    """Takes its time, notes what process annotates, and fails or dies where the text says so."""

    def __init__(self, nlp: Language, name: str, notes: str, seconds: float) -> None:
        self.notes, self.seconds = notes, seconds

    def __call__(self, doc: Doc) -> Doc:
        time.sleep(self.seconds)
        if self.notes:
            (Path(self.notes) / str(os.getpid())).touch()
        if "坏" in doc.text:
            raise ValueError(f"no {doc.text}")
        if "死" in doc.text:
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


@registry.callbacks("careless")
def make_careless() -> Callable[[Language], Language]:
    """Lets a pipeline pass over errors."""

    def set_handler(nlp: Language) -> Language:
        nlp.set_error_handler(lambda name, pipe, docs, error: None)
        return nlp

    return set_handler
