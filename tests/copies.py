"""A pipeline as it comes back from wherever it can be kept."""

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path

import spacy
from spacy.language import Language


def copies_of(nlp: Language, name: str, folder: Path) -> Iterator[Language]:
    """Copies by a folder, bytes, pickle and deepcopy, and one that sources a component."""
    nlp.to_disk(folder)
    yield spacy.load(folder)
    yield spacy.util.load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
    yield pickle.loads(pickle.dumps(nlp))
    yield copy.deepcopy(nlp)
    tokenizer = nlp.config["nlp"]["tokenizer"]
    sourced = spacy.blank(nlp.lang, config={"nlp": {"tokenizer": tokenizer}})
    sourced.add_pipe(name, source=nlp)
    yield sourced
