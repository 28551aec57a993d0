"""Lexicons that take seconds to build, kept in the user's cache folder."""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

from .. import __version__
from .lexicon import Lexicon


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
