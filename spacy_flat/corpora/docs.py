"""Docs of a `.spacy` file, with errors that say what is wrong with it."""

from __future__ import annotations

import zlib
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors


def read_docs(path: Path) -> list[Doc]:
    """The Docs of a DocBin.

    Raises FileNotFoundError (F001), IsADirectoryError (F002), and ValueError where the file is no
    DocBin (F134) or has no Docs (F133).
    """
    if path.is_dir():
        raise IsADirectoryError(Errors.F002.format(path=path))
    if not path.exists():
        raise FileNotFoundError(Errors.F001.format(path=path))
    try:
        docs = list(DocBin().from_disk(path).get_docs(Vocab()))
    except (zlib.error, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(Errors.F134.format(path=path, reason=error or type(error))) from error
    if not docs:
        raise ValueError(Errors.F133.format(path=path))
    return docs
