"""Docs of a `.spacy` file, with errors that say what is wrong with it."""

from __future__ import annotations

import zlib
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from ..errors import Errors


def read_docs(path: Path, vocab: Vocab) -> list[Doc]:
    """The Docs of a DocBin.

    Raises FileNotFoundError (F001), IsADirectoryError (F002), and ValueError where the file is no
    DocBin (F134) or has no Docs (F133).
    """
    if path.is_dir():
        raise IsADirectoryError(Errors.F002.format(path=path))
    if not path.exists():
        raise FileNotFoundError(Errors.F001.format(path=path))
    try:
        docs = list(DocBin().from_disk(path).get_docs(vocab))
    except (zlib.error, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        # spaCy's own message (E1014) gives advice that is of no use here; its cause says enough.
        cause = error.__context__ or error
        reason = str(cause) or type(cause).__name__
        raise ValueError(Errors.F134.format(path=path, reason=reason)) from error
    if not docs:
        raise ValueError(Errors.F133.format(path=path))
    return docs


def read_examples(path: Path, nlp: Language) -> list[Example]:
    """The Docs of a DocBin beside those that the pipeline's tokenizer makes of their texts, as
    `spacy.Corpus.v1` does; empty ones are left out. Raises as `read_docs`."""
    return [
        Example(_tokenized(doc, nlp), doc) for doc in read_docs(path, nlp.vocab) if len(doc) > 0
    ]


def _tokenized(doc: Doc, nlp: Language) -> Doc:
    if not doc.has_unknown_spaces:
        return nlp.make_doc(doc.text)
    words = [token.text for token in doc]
    return Doc(nlp.vocab, words=words, spaces=[bool(token.whitespace_) for token in doc])
