"""Encoders of characters, pretrained on raw text, as tok2vec of components."""
