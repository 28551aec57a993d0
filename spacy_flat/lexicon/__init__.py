"""Word lists, and the words that occur in a text."""

from .coverage import character_coverage, entity_coverage
from .full_width import fold_full_width
from .lexicon import Lexicon, Matches, check_lexicon
from .sources import NOT_ENTITY, Entry, WordList, jieba_words, read_thuocl, read_words, vector_words

__all__ = [
    "NOT_ENTITY",
    "Entry",
    "Lexicon",
    "Matches",
    "WordList",
    "character_coverage",
    "check_lexicon",
    "entity_coverage",
    "fold_full_width",
    "jieba_words",
    "read_thuocl",
    "read_words",
    "vector_words",
]
