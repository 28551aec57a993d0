"""The options `flat_ner` is made with, and the component before it has a network."""

from typing import Any

import pytest

from .conftest import add_flat, blank


def test_without_a_network_there_is_no_lexicon() -> None:
    with pytest.raises(ValueError, match=r"F308.*'flat_ner'"):
        _ = add_flat(blank()).lexicon  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("block", "options", "message"),
    [
        ("network", {"word_features": ["type", "type"]}, "F305.*word_features.*repetitions"),
        ("network", {"no_such_option": 1}, "no_such_option"),
        ("lattice", {"batch_size": 0}, "F305.*flat_ner, model.lattice: batch_size = 0 .*1 or more"),
        ("", {"on_misaligned": "keep"}, "on_misaligned"),
        ("", {"constrained_decoding": "often"}, "constrained_decoding"),
    ],
)
def test_impossible_options(block: str, options: dict[str, Any], message: str) -> None:
    config = {"model": {block: options}} if block else options
    with pytest.raises(ValueError, match=message):
        add_flat(blank(), config)
