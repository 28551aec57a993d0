"""Where the labels come from: examples, arguments, `add_label` and training."""

import warnings
from typing import Any

import pytest
from learning import falling, settle
from spacy.language import Language
from spacy.training import Example

from spacy_flat.nn.optimizers import AdamW

from .conftest import (
    GOLD,
    TEXTS,
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
    shim = flat(nlp).model.shims[0]
    table = shim.module.words.pretrained.data_ptr()
    assert flat(nlp).add_label("DATE") == 1
    assert shim.module.words.pretrained.data_ptr() == table  # no second copy
    assert flat(nlp).add_label("DATE") == 0
    for label in ("LOC", "ORG", "PER"):
        assert flat(nlp).add_label(label) == 0
    assert found(nlp) == GOLD  # a new label is improbable
    examples = [*examples_of(nlp), char_example(nlp, "昨天下雨。", [(0, 2, "DATE")])]
    optimizer = AdamW(0.02)
    settle(nlp, examples, optimizer, 40)
    check_known(nlp, examples=examples)
    assert entities(nlp("昨天下雨。")) == [("DATE", "昨天")]
    assert found(nlp)[0] == GOLD[0]
    assert flat(copy_of(nlp)).labels == ("LOC", "ORG", "PER", "DATE")


@pytest.mark.parametrize("way", ["alone", "rehearsed", "mixed"])
def test_old_labels_beside_new_ones(way: str, trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    assert nlp.rehearse(examples_of(nlp)) == {"flat_ner": 0.0}  # without a tutor
    optimizer = nlp.resume_training(sgd=AdamW(0.02))
    raw = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in TEXTS]
    assert nlp.rehearse(examples_of(nlp))["flat_ner"] == pytest.approx(0, abs=1e-4)
    new = [char_example(nlp, "昨天下雨，他在家。", [(0, 2, "DATE")])]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in falling(optimizer, 60):
            nlp.update([*new, *(raw if way == "mixed" else [])], sgd=optimizer)
            if way == "rehearsed":
                nlp.rehearse(raw)
    assert entities(nlp("昨天下雨，他在家。")) == [("DATE", "昨天")]
    assert (found(nlp) == GOLD) == (way != "alone")
    assert ["W307" in str(each.message) for each in caught] == [True] * (way == "alone")
    nlp.from_bytes(nlp.to_bytes())
    assert nlp.rehearse(raw) == {"flat_ner": 0.0}  # the tutor was another network's


def test_unannotated_labels_are_labels() -> None:
    nlp = blank()
    add_flat(nlp, unannotated_labels=["GPE"])
    with pytest.raises(ValueError, match=r"F242.*flat_ner.*'GPE'.*'LOC', 'ORG', 'PER'"):
        train(nlp)
