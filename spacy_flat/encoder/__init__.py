"""Pretrained encoders of characters or subword pieces, as tok2vec of components."""
