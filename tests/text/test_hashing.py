"""Hashes of characters and words."""

from spacy_flat.ner.tener.options import SequenceOptions
from spacy_flat.text.hashing import hash_characters, normalise_word


def test_digits_are_alike() -> None:
    """Also full-width ones; the characters beside them in Unicode are none."""
    digits = "0123456789０１２３４５６７８９"
    form = SequenceOptions(lower_case=False, normalise_numbers=True)
    assert normalise_word(digits + "/:／：", form) == "0" * 20 + "/:／："
    assert hash_characters(digits + "/:／：", True).tolist() == list(map(ord, "0" * 20 + "/:／："))
    assert hash_characters(digits, False).tolist() == list(map(ord, digits))
