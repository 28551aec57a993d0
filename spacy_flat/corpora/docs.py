"""Docs of a `.spacy` file, with errors that describe the defect."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, ORTH  # type: ignore[import-not-found]
from spacy.language import Language
from spacy.strings import StringStore
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from ..errors import Errors
from ..util.files import read_text_lines, require_exists
from ..util.srsly_registry import look_up_once


def read_docs(path: Path, vocab: Vocab) -> list[Doc]:
    """The Docs of a DocBin.

    Raises FileNotFoundError (F001), IsADirectoryError (F002), and ValueError if the file is not a
    DocBin (F134) or is empty (F010).
    """
    with _reading(path):
        docs = list(DocBin().from_disk(path).get_docs(vocab))
    if not docs:
        raise ValueError(Errors.F010.format(path=path, what="Doc"))
    return docs


def read_examples(path: Path, nlp: Language) -> list[Example]:
    """The Docs of a DocBin beside those that the pipeline's tokenizer makes of their texts, as
    `spacy.Corpus.v1` does; empty ones are left out. Raises as `read_docs`."""
    return [
        Example(_tokenized(doc, nlp), doc) for doc in read_docs(path, nlp.vocab) if len(doc) > 0
    ]


def read_texts(path: Path) -> Iterator[str]:
    """The texts of a DocBin, for a path that ends in .spacy, or the lines of a text file. Raises as
    `read_docs` and `read_text_lines`."""
    if path.suffix == ".spacy":
        yield from (doc.text for doc in read_docs(path, Vocab()))
    else:
        yield from (text for _, text in read_text_lines(path))


def read_entity_texts(path: Path) -> set[str]:
    """The texts of all entities in a DocBin. Raises as `read_entities`."""
    return {text for text, _ in read_entities(path)}


def read_entities(path: Path) -> set[tuple[str, str]]:
    """The texts and labels of all entities in a DocBin.

    Reads them from its arrays, since making Docs takes ten times as long. Raises as
    `read_docs`, but for a DocBin without Docs.
    """
    found = set()
    with _reading(path):
        docs = DocBin().from_disk(path)
        strings = StringStore(docs.strings)
        orth, iob, label = (docs.attrs.index(attr) for attr in (ORTH, ENT_IOB, ENT_TYPE))
        for tokens, spaces, flags in zip(docs.tokens, docs.spaces, docs.flags, strict=True):
            # As in `Doc.ents`: 3 begins an entity, or blocks a token, which has no label; 1 goes
            # on with it.
            inside = (tokens[:, label] != 0) & (tokens[:, iob] != 2)
            begins = inside & (tokens[:, iob] == 3)
            spaced = spaces.ravel() | flags["has_unknown_spaces"]
            for start in np.flatnonzero(begins).tolist():
                end = start + 1
                while end < len(tokens) and inside[end] and not begins[end]:
                    end += 1
                words = (strings[key] for key in tokens[start:end, orth])
                pieces = zip(words, spaced[start:end], strict=True)
                text = "".join(word + " " * bool(space) for word, space in pieces)
                text = text[: len(text) - bool(spaced[end - 1])]
                found.add((text, strings[tokens[start, label]]))
    return found


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise as `read_docs` for a file that is missing or not a DocBin."""
    if path.is_dir():
        raise IsADirectoryError(Errors.F002.format(path=path))
    require_exists(path)
    look_up_once()
    try:
        yield
    except (zlib.error, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        # spaCy's message (E1014) has advice that doesn't apply here; its cause is clearer.
        cause = error.__context__ or error
        reason = str(cause) or type(cause).__name__
        raise ValueError(Errors.F134.format(path=path, reason=reason)) from error


def _tokenized(doc: Doc, nlp: Language) -> Doc:
    if not doc.has_unknown_spaces:
        return nlp.make_doc(doc.text)
    words = [token.text for token in doc]
    return Doc(nlp.vocab, words=words, spaces=[bool(token.whitespace_) for token in doc])
