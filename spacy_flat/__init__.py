"""Lexicon-enhanced Chinese NER and its sister models, as spaCy components."""

__version__ = "0.1.0"
