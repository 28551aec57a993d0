"""Encoders of characters: pretrained on raw text, and as a tok2vec beneath other components."""
