"""Docs of `.spacy` files, and Docs whose tokens are given."""

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import srsly
from catalogue import REGISTRY, Registry
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.vocab import Vocab

from ..errors import Errors
from ..util.files import read_text_lines, require_exists


def read_docs(path: Path, vocab: Vocab) -> list[Doc]:
    """The Docs of a DocBin.

    Raises FileNotFoundError (F001), IsADirectoryError (F002), and ValueError if the file is not a
    DocBin (F134) or is empty (F010).
    """
    if path.is_dir():
        raise IsADirectoryError(Errors.F002.format(path=path))
    require_exists(path)
    look_up_once()
    try:
        docs = list(DocBin().from_disk(path).get_docs(vocab))
    except (zlib.error, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        # spaCy's message (E1014) has advice that doesn't apply here; its cause is clearer.
        cause = error.__context__ or error
        reason = str(cause) or type(cause).__name__
        raise ValueError(Errors.F134.format(path=path, reason=reason)) from error
    if not docs:
        raise ValueError(Errors.F010.format(path=path, what="Doc"))
    return docs


def read_examples(path: Path, nlp: Language) -> list[Example]:
    """The Docs of a DocBin as examples, as `spacy.Corpus.v1` makes them. Raises as `read_docs`."""
    return list(Corpus(path).make_examples(nlp, read_docs(path, nlp.vocab)))


def read_texts(path: Path) -> Iterator[str]:
    """The texts of a DocBin, for a path that ends in .spacy, or the lines of a text file. Raises as
    `read_docs` and `read_text_lines`."""
    if path.suffix == ".spacy":
        yield from (doc.text for doc in read_docs(path, Vocab()))
    else:
        yield from (text for _, text in read_text_lines(path))


def entities_of(doc: Doc) -> list[dict[str, Any]]:
    """The entities of a Doc in characters of its text; confidence may be None."""
    return [
        {
            "start": ent.start_char,
            "end": ent.end_char,
            "label": ent.label_,
            "text": ent.text,
            "confidence": ent._.confidence if ent.has_extension("confidence") else None,
        }
        for ent in doc.ents
    ]


def new_docs() -> DocBin:
    look_up_once()
    return DocBin(attrs=["ENT_IOB", "ENT_TYPE"], store_user_data=True)


def make_doc(vocab: Vocab, units: Sequence[str], separator: str = "") -> Doc:
    """A Doc whose text is exactly the units (the characters of a text) with `separator` between
    them. A unit is a token, whatever its length; white space is tokenised as by spaCy's Chinese
    tokenizer."""
    text, end = separator.join(units), 0
    words: list[str] = []
    spaces: list[bool] = []
    # As `spacy.util.get_words_and_spaces`, whose time is quadratic: some files are one sentence.
    for unit in filter(str.strip, units):
        start = text.index(unit, end)
        if start > end:
            words.append(text[end:start])
            spaces.append(False)
        end = start + len(unit)
        words.append(unit)
        spaces.append(text[end : end + 1] == " ")
        end += spaces[-1]
    if end < len(text):
        words.append(text[end:])
        spaces.append(False)
    return Doc(vocab, words=words, spaces=spaces)


def look_up_once() -> None:
    """Let srsly keep its encoders and decoders until something is registered: it goes through the
    functions of all registries and the entry points of all installed packages each time it packs
    anything: 94 % of the time that 2,000 Docs of nine characters take to be packed and unpacked."""
    for registry in (srsly.msgpack_encoders, srsly.msgpack_decoders):
        registry.get_all = lambda registry=registry: _known(
            registry, len(REGISTRY), *next(reversed(REGISTRY.items()))
        )


@lru_cache(maxsize=4)
def _known(registry: Registry, n_registered: int, last: object, function: object) -> dict[str, Any]:
    return dict(Registry.get_all(registry))
