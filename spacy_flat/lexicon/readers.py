"""Lexicons and word lists for `[initialize]` of a config, registered under `@readers`."""

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Dict  # noqa: UP035  (thinc validates configs by these)

from .. import __version__
from ..errors import Warnings
from .cedict import cedict_words
from .lexicon import Lexicon
from .sources import JiebaWords, WordList, jieba_words, read_thuocl, read_words, vector_words


def lexicon(
    sources: Dict[str, WordList],  # noqa: UP006
    full_width: bool = False,
    min_length: int = 2,
) -> Lexicon:
    """`spacy-flat.Lexicon.v1`: the words of several sources; of equal words the first counts.

    sources: word lists by name, which becomes the origin of their words.
    full_width: treat full-width forms (Ａ, １) as plain ones, in words and in texts.
    min_length: characters; omits shorter words.

    Warns (W002) of a source that adds nothing.
    """

    def make() -> Lexicon:
        entries = (
            entry._replace(origin=origin) for origin, words in sources.items() for entry in words
        )
        return Lexicon(entries, full_width=full_width, min_length=min_length)

    only = next(iter(sources.values())) if len(sources) == 1 else None
    if isinstance(only, JiebaWords):
        made = cached(only.path, (*sources, full_width, min_length), make)
    else:
        made = make()
    for origin, words in sources.items():
        if origin not in made.origin_names:
            warnings.warn(Warnings.W002.format(origin=origin, count=len(words)), stacklevel=2)
    return made


def jieba(weight: float = 1.0) -> WordList:
    """`spacy-flat.JiebaWords.v1`: the dictionary of the installed jieba. weight: as in `words`."""
    return jieba_words().weighted(weight)


def jieba_lexicon() -> Lexicon:
    """The default lexicon of a component: jieba's dictionary."""
    return lexicon({"jieba": jieba_words()})


def words(
    path: Path,
    type: str = "",
    weight: float = 1.0,
    skip_bad: bool = False,
    trust: float | None = None,
) -> WordList:
    """`spacy-flat.Words.v1`: a word list; see `read_words`.

    path: the file.
    type: type of words that have none in the file.
    weight: factor of the frequencies, for a source that counts differently from the others.
    skip_bad: omit bad lines, instead of raising.
    trust: how strongly the words count, from 0 to 1; see `Lexicon.add`.
    """
    return read_words(path, type=type, skip_bad=skip_bad).weighted(weight).trusted(trust)


def thuocl(path: Path, type: str = "", weight: float = 1.0, skip_bad: bool = False) -> WordList:
    """`spacy-flat.THUOCL.v1`: a file of THUOCL; see `read_thuocl`. Arguments as in `words`."""
    return read_thuocl(path, type=type, skip_bad=skip_bad).weighted(weight)


def cedict() -> WordList:
    """`spacy-flat.CEDICT.v1`: the ordinary words of CC-CEDICT, each with its English translation as
    its type; see `cedict_words`."""
    return cedict_words()


def words_of_vectors(path: Path, type: str = "", skip_bad: bool = False) -> WordList:
    """`spacy-flat.VectorWords.v1`: the words of a file of vectors. Arguments as in `words`."""
    return vector_words(path, type=type, skip_bad=skip_bad)


def cached(source: Path, settings: object, make: Callable[[], Lexicon]) -> Lexicon:
    """The lexicon that `make` builds from a file with these settings, or its cached copy. Ignores a
    cache that is damaged or can't be written."""
    versions = __version__, version("daachorse")
    key = blake2b(source.read_bytes() + repr((settings, versions)).encode(), digest_size=16)
    try:
        caches = Path.home() / (os.environ.get("XDG_CACHE_HOME") or ".cache")
    except RuntimeError:  # no home
        return make()
    folder = caches / "spacy-flat" / f"lexicon-{key.hexdigest()}"
    with suppress(OSError, ValueError):
        return Lexicon.from_disk(folder)
    made = make()
    with suppress(OSError):
        made.to_disk(folder)
    return made
