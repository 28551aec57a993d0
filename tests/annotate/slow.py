"""Components of the tests' pipelines, which actors import with --code."""

import os
import time
from pathlib import Path

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

Doc.set_extension("length", default=None, force=True)
Doc.set_extension("length_twice", getter=lambda doc: 2 * doc._.length, force=True)
Doc.set_extension("parts", getter=lambda doc: [(doc.text[:1], np.float32(1.5))], force=True)
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
        doc._.length = len(doc.text)
        doc.cats["long"] = float(len(doc.text) > 6)
        return doc
