"""Lexicons for `[initialize]` of a config."""

from copy import copy
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Dict  # noqa: UP035  (thinc validates configs by these)

from .lexicon import Lexicon
from .word_lists import WordList, jieba_dictionary, read_words


def lexicon(
    sources: Dict[str, WordList],  # noqa: UP006
    ignore_case: bool = True,
) -> Lexicon:
    """`spacy-flat.Lexicon.v1`: the words of several sources; of equal words the first counts.

    sources: word lists by name.
    ignore_case: find words in letters that have a case whatever their case.
    """
    return Lexicon(chain.from_iterable(sources.values()), ignore_case=ignore_case)


def jieba_lexicon() -> Lexicon:
    """The default lexicon of a component: jieba's dictionary, built once a process."""
    return copy(_lexicon_of(jieba_dictionary()))


@lru_cache(maxsize=1)
def _lexicon_of(path: Path) -> Lexicon:
    return Lexicon(read_words(path))
