"""Lexicons for `[initialize]` of a config."""

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
from .lexicon import Lexicon
from .word_lists import Entry, JiebaWords, WordList, jieba_words


def lexicon(
    sources: Dict[str, WordList],  # noqa: UP006
    full_width: bool = False,
    min_length: int = 2,
    ignore_case: bool = True,
) -> Lexicon:
    """`spacy-flat.Lexicon.v1`: the words of several sources; of equal words the first counts.

    sources: word lists by name.
    full_width: treat full-width forms (Ａ, １) as plain ones, in words and in texts.
    min_length: characters; omits shorter words.
    ignore_case: find words in letters that have a case whatever their case.

    Warns (W002) of a source that adds nothing.
    """
    settings = {"full_width": full_width, "min_length": min_length, "ignore_case": ignore_case}

    def make() -> Lexicon:
        entries: dict[str, Entry] = {}
        for name, words in sources.items():
            before = len(entries)
            for entry in words:
                entries.setdefault(entry.word, entry)
            if len(entries) == before:
                message = Warnings.W002.format(origin=name, count=len(words))
                warnings.warn(message, stacklevel=3)
        return Lexicon(entries.values(), **settings)  # type: ignore[arg-type]

    only = next(iter(sources.values())) if len(sources) == 1 else None
    return cached(only.path, settings, make) if isinstance(only, JiebaWords) else make()


def jieba_lexicon() -> Lexicon:
    """The default lexicon of a component: jieba's dictionary."""
    return lexicon({"jieba": jieba_words()})


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
