"""Blocks of options as a config has them."""

import re

import pytest
import spacy
from spacy.util import registry

from spacy_flat.ner.flat.options import FLATOptions
from spacy_flat.ner.tener.options import TENEROptions
from spacy_flat.similarity.options import RE2Options, re2_options
from spacy_flat.util.options import Options

network = registry.misc.get("spacy-flat.FLATOptions.v2")
lattice = registry.misc.get("spacy-flat.LatticeOptions.v2")


def test_a_variant_has_what_is_no_setting() -> None:
    assert network() == FLATOptions()
    assert network(layers=2, variant={"fusion": "ff"}) == FLATOptions(layers=2, fusion="ff")


@pytest.mark.parametrize("options", [FLATOptions, TENEROptions])
@pytest.mark.parametrize("value", ["abc", "1", float("nan"), float("inf"), -1e-9, True, None])
def test_an_error_says_all_that_is_allowed(options: type[Options], value: object) -> None:
    shown = re.escape(repr(value))
    wanted = rf"model\.network: r_drop = {shown} is invalid: it must be a number, 0 or more\."
    with pytest.raises(ValueError, match=rf"F305.*{wanted}"):
        options(r_drop=value)


@pytest.mark.parametrize("name", ["layers", "fussion"])
def test_a_variant_of_something_else(name: str) -> None:
    with pytest.raises(ValueError, match=rf"F315.*'{name}'.*fusion"):
        network(layers=1, variant={name: 1})


def test_few_settings() -> None:
    shown = spacy.blank("zh")
    shown.add_pipe("flat_ner")
    config = shown.config["components"]["flat_ner"]
    blocks = [config, config["model"]["network"], config["model"]["lattice"]]
    rest = {"factory", "model", "scorer", "@misc", "variant", "constrained_decoding", "label_map"}
    assert sum(len(block.keys() - rest) for block in blocks) <= 20


def test_options_of_earlier_versions() -> None:
    """A config may name them with their defaults, and with nothing else."""
    assert re2_options(variant={"key_dropout": 0.0, "blocks": 3}) == RE2Options(blocks=3)
    with pytest.raises(ValueError, match=r"F315.*key_dropout"):
        re2_options(variant={"key_dropout": 0.1})
