"""Docs of a `.spacy` file, with errors that describe the defect."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spacy.language import Language
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
