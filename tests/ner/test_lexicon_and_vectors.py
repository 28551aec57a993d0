"""The lexicon and the pretrained vectors a pipeline is initialised with."""

import warnings
from pathlib import Path

import pytest
import torch
from learning import settle

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.vectors import TextVectors

from .conftest import GOLD, NETWORK, add_flat, blank, check_known, examples_of, found, lexicon


def vectors_of(*keys: str, width: int = 6) -> TextVectors:
    rows = torch.randn(len(keys), width, generator=torch.Generator().manual_seed(1))
    return TextVectors(list(keys), rows.numpy())


@pytest.mark.parametrize("fine_tune", [True, False])
def test_pretrained_vectors(fine_tune: bool) -> None:
    nlp = blank()
    lattice = {"embed_width": 16, "fine_tune": fine_tune}
    ner = add_flat(nlp, {"model": {"network": NETWORK, "lattice": lattice}})
    ner.initialize(
        lambda: examples_of(nlp),
        lexicon=lexicon(),
        char_vectors=vectors_of(*"上海津", width=5),
        bigram_vectors=vectors_of("上海", "天津", width=6),
        word_vectors=vectors_of("上海", "北京", "天津", width=7),
    )
    module = ner.model.shims[0].module
    encoder = ner.model.attrs["featuriser"]
    key = int(encoder.chars.look_up(torch.tensor([ord("上")]).numpy().astype("uint64"))[0])
    assert (key <= encoder.chars.n_trained) is fine_tune

    def vector() -> torch.Tensor:
        with torch.no_grad():
            return module.chars(torch.tensor(key)).clone()

    before = vector()
    assert float(before.norm()) == pytest.approx(1.0, rel=1e-5)
    sgd = AdamW(0.02)
    settle(nlp, examples_of(nlp), sgd, 40)
    check_known(nlp)
    assert found(nlp) == GOLD
    assert torch.equal(before, vector()) is not fine_tune


def test_types_that_the_network_does_not_know(tmp_path: Path) -> None:
    nlp = blank()
    lattice = {"embed_width": 16, "gazetteer_rate": 0.3}
    ner = add_flat(nlp, {"model": {"network": NETWORK, "lattice": lattice}})
    ner.initialize(lambda: examples_of(nlp), lexicon=lexicon())
    path = tmp_path / "words.txt"
    path.write_text("王小明\t1\tPRE\n", "utf-8")
    words = ner.lexicon
    known = "'LOC', 'ORG', 'PER'"
    refused = f"F044.*'PRE'.*one of: {known}, 'not_entity'[.]"
    with pytest.raises(ValueError, match=refused):
        words.add(["王小明"], type="PRE")
    with pytest.raises(ValueError, match=refused):
        words.update(path, type="PRE")
    with pytest.raises(ValueError, match=r"F046.*'王小明'"):
        words.update(path, trust=1)
    words.update(path)
    with pytest.warns(UserWarning, match=f"W302.*'PRE'.*among {known}, or train"):
        nlp("王小明来了")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("王小明来了")  # told once
