"""Codes of characters and words."""

from spacy_flat.text.codes import char_codes, normalise_word


def test_digits_are_alike() -> None:
    """Also full-width ones; the characters beside them in Unicode are none."""
    digits = "0123456789０１２３４５６７８９"
    assert normalise_word(digits + "/:／：", False, True) == "0" * 20 + "/:／："
    assert char_codes(digits + "/:／：", True).tolist() == list(map(ord, "0" * 20 + "/:／："))
    assert char_codes(digits, False).tolist() == list(map(ord, digits))
