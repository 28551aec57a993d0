"""Word lists and word vectors, and the words that occur in a text."""

from .lexicon import Lexicon, Matches
from .sources import Entry, WordList, jieba_words, read_thuocl, read_words, vector_words
from .vectors import TextVectors, read_vectors
from .width import fold_full_width

__all__ = [
    "Entry",
    "Lexicon",
    "Matches",
    "TextVectors",
    "WordList",
    "fold_full_width",
    "jieba_words",
    "read_thuocl",
    "read_vectors",
    "read_words",
    "vector_words",
]
