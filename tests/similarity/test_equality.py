"""Texts that are equal but for how they are written, and units without a vector."""

import copy
from typing import Any

import numpy as np
import pytest
from spacy.language import Language

from spacy_flat.similarity.equality import normal_form

from .conftest import add_re2, blank, examples_of, re2, train


@pytest.mark.parametrize(
    ("left", "right", "are_equal"),
    [
        ("怎么退款", "怎么退款？", True),
        ("怎 么退款", " 怎么退款。。", True),
        ("ＡＰＰ打不开", "app 打不开", True),
        ("iPhone 15 价格", "iphone  15价格", True),
        ("iPhone 15", "iPhone15", False),
        ("Привет мир", "Приветмир", False),
        ("身高6'", '身高6"', False),
        ("如何開發票", "如何开发票", True),
        ("怎么退款", "“怎么退款？”", True),
        ("怎么\u200b退\u00ad款", "怎么退款", True),
        ("他的“苹果”呢", "他的苹果呢", False),
        ("10²是多少", "102是多少", False),
        ("3½", "31/2", False),
        ("１２３ｋｇ", "123kg", True),
        ("？", "！", False),
        ("", "", True),
    ],
)
def test_normal_form(left: str, right: str, are_equal: bool) -> None:
    assert (normal_form(left) == normal_form(right)) == are_equal


def test_equal_texts_are_the_same(trained_pairs: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = copy.deepcopy(trained_pairs)
    pipe = re2(nlp)
    assert pipe.similarity("完全无关", "完全无关！") == 1.0
    assert nlp("能开发票吗\x1f能开发票吗").cats == {"different": 0.0, "same": 1.0}
    three = blank()
    other = add_re2(three)
    three.initialize(lambda: examples_of(three))
    other.positive_label = "different"
    assert other.similarity("退款", "退款") == 1.0
    monkeypatch.setattr(other, "read", None)  # the network isn't asked
    assert other.similarity("退款" * 9000, "退款" * 9000) == 1.0


def test_unknown_units_have_vectors_of_their_own() -> None:
    """The same in every network, and saved with none."""
    pipe = add_re2(blank(), text={"bigrams": False})
    train(pipe.nlp, steps=1)
    network: Any = pipe.shim.module
    keys = pipe.model.attrs["featuriser"].chars.look_up(np.array([0x9F98, 0x9750], np.uint64), True)
    vectors = network.chars(network.to_tensor(keys)).detach().numpy()
    assert np.abs(vectors[0] - vectors[1]).max() > 0.1
    assert vectors.std() == pytest.approx(16**-0.5, rel=0.5)
    assert not any("unknown" in name for name in network.state_dict())


def test_training_keeps_the_best_threshold() -> None:
    nlp = blank()
    pipe = add_re2(nlp, fit_threshold=True)
    train(nlp, steps=2)
    scores = nlp.evaluate(examples_of(nlp))
    best = pipe.threshold
    nlp.evaluate(examples_of(nlp)[:1])
    assert pipe.threshold == best  # which evaluations after the training leave
    pipe.fit_threshold = False
    for pipe.threshold in (0.25, 0.5, 0.75):
        assert nlp.evaluate(examples_of(nlp))["pairs_acc"] <= scores["pairs_acc"]
