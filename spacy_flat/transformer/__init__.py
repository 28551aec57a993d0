"""A BERT with one vector per character, through spacy-transformers."""
