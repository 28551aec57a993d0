"""Where the labels come from: examples, arguments, `add_label` and training."""

from typing import Any

import pytest
import torch
from learning import settle
from spacy.language import Language

from spacy_flat.nn.optimizers import AdamW

from .conftest import (
    GOLD,
    Copy,
    add_flat,
    blank,
    char_example,
    check_known,
    entities,
    examples_of,
    flat,
    found,
    lexicon,
    train,
)


@pytest.mark.parametrize("label", ["", " PER", 3, None])
def test_wrong_labels(label: Any) -> None:
    nlp = blank()
    ner = add_flat(nlp)
    with pytest.raises(ValueError, match=rf"F302.*{label!r}"):
        ner.add_label(label)
    with pytest.raises(ValueError, match="F302"):
        ner.initialize(lambda: examples_of(nlp), lexicon=lexicon(), labels=["LOC", label])
    with pytest.raises(ValueError, match="F386"):
        ner.add_label("not_entity")
    with pytest.raises(TypeError, match="F026"):
        ner.initialize(lambda: examples_of(nlp), lexicon=lexicon(), labels="LOC")


def test_label_added_to_a_trained_network(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    assert flat(nlp).add_label("DATE") == 1
    assert flat(nlp).add_label("DATE") == 0
    for label in ("LOC", "ORG", "PER"):
        assert flat(nlp).add_label(label) == 0
    module = flat(nlp).model.shims[0].module
    with torch.no_grad():  # a new label has learnt nothing yet: let it be unlikely
        module.classify.bias[-4:] = -5.0
    assert found(nlp) == GOLD
    examples = [*examples_of(nlp), char_example(nlp, "昨天下雨。", [(0, 2, "DATE")])]
    optimizer = AdamW(0.02)
    settle(nlp, examples, optimizer, 40)
    check_known(nlp, examples=examples)
    assert entities(nlp("昨天下雨。")) == [("DATE", "昨天")]
    assert found(nlp)[0] == GOLD[0]
    assert flat(copy_of(nlp)).labels == ("LOC", "ORG", "PER", "DATE")


def test_unannotated_labels_are_labels() -> None:
    nlp = blank()
    add_flat(nlp, unannotated_labels=["GPE"])
    with pytest.raises(ValueError, match=r"F242.*flat_ner.*'GPE'.*'LOC', 'ORG', 'PER'"):
        train(nlp)
