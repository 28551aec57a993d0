"""The options `flat_ner` is made with, and the component before it has a network."""

from typing import Any

import pytest

from spacy_flat.ner.flat.options import FLATOptions

from .conftest import add_flat, blank


def test_not_initialised() -> None:
    nlp = blank()
    ner = add_flat(nlp)
    assert ner.labels == ()
    with pytest.raises(ValueError, match=r"F308.*'flat_ner'"):
        _ = ner.lexicon  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 0}, r"F305.* flat_ner, model.network: layers = 0 .*1 or more"),
        ({"embed_dropout": 1.0}, r"F305.*embed_dropout = 1\.0 .*below 1"),
        ({"word_features": ["type", "type"]}, "F305.*word_features.*repetitions"),
    ],
)
def test_impossible_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FLATOptions(**options)
    with pytest.raises(ValueError, match=message):
        add_flat(blank(), {"model": {"network": options}})


def test_options_of_the_config_are_checked() -> None:
    with pytest.raises(ValueError, match="F305"):
        add_flat(blank(), {"model": {"lattice": {"overlap": -1}}})
    for wrong in ({"fusion": "no"}, {"layers": "many"}, {"no_such_option": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            add_flat(blank(), {"model": {"network": wrong}})
    for wrong in ({"on_misaligned": "keep"}, {"constrained_decoding": "often"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            add_flat(blank(), **wrong)
