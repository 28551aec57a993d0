"""A BERT beneath components: one vector a character, through spacy-transformers."""
