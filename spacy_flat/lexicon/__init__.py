"""Word lists, and the words that occur in a text."""

from .lexicon import Lexicon
from .snapshot import Matches, Snapshot
from .word_lists import NOT_ENTITY, Entry, WordList, jieba_words, read_words, vector_words

__all__ = [
    "NOT_ENTITY",
    "Entry",
    "Lexicon",
    "Matches",
    "Snapshot",
    "WordList",
    "jieba_words",
    "read_words",
    "vector_words",
]
