"""Where the labels come from: examples, arguments, `add_label` and training."""

import pickle
import warnings
from typing import Any

import pytest
import torch
from learning import falling, settle
from spacy.language import Language
from spacy.training import Example

from spacy_flat.compress.compactor import Compactor
from spacy_flat.ner.emissions import network_of
from spacy_flat.ner.network import RARE
from spacy_flat.ner.tags import TagSet
from spacy_flat.ner.tener.network import TENER
from spacy_flat.ner.tener.options import TENEROptions
from spacy_flat.nn.embeddings import Table
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.nn.shim import shim_of

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
    assert nlp.rehearse(examples_of(nlp)) == {"flat_ner": 0.0}  # without a teacher
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
    assert ("DATE", "昨天") in entities(nlp("昨天下雨，他在家。"))
    assert (found(nlp) == GOLD) == (way != "alone")
    assert ["W307" in str(each.message) for each in caught] == [True] * (way == "alone")
    nlp.from_bytes(nlp.to_bytes())
    assert nlp.rehearse(raw) == {"flat_ner": 0.0}  # the teacher was another network's


NEW = ["DATE", "DRUG", "A", "B", "C"]


def test_new_labels_are_rare(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    ner, new = flat(nlp), [(start, end, label) for label in NEW for start, end in ((0, 2), (3, 4))]
    nlp.resume_training()
    teacher = ner._rehearsal_model
    assert teacher.attrs["featuriser"] is ner.featuriser
    pretrained = [network_of(each).chars.pretrained.data_ptr() for each in (teacher, ner.model)]
    assert pretrained[0] == pretrained[1]
    docs = [nlp.make_doc(text) for text in TEXTS[:8]]
    before = ner.span_probabilities(docs, GOLD[:8])
    ner.add_labels(NEW)
    for old, now in zip(before, ner.span_probabilities(docs, GOLD[:8]), strict=True):
        assert now == pytest.approx(old, abs=1e-2)
    assert max(map(sum, ner.span_probabilities(docs, [new] * len(docs)))) < 0.01
    assert nlp.rehearse([Example(doc, doc.copy()) for doc in docs])["flat_ner"] < 0.05
    with pytest.raises(ValueError, match=r"F243.*DATE"):
        flat(copy_of(trained)).rehearse_with(ner.model)
    shim_of(teacher).module.to("meta")
    with pytest.raises(NotImplementedError, match="meta"):  # it is moved to where the network is
        nlp.rehearse([Example(doc, doc.copy()) for doc in docs])


def weights_of(nlp: Language) -> dict[str, torch.Tensor]:
    parameters = network_of(flat(nlp).model).named_parameters()
    return {name: each.detach().clone() for name, each in parameters}


@pytest.mark.parametrize("order", ["before", "after"])
def test_added_labels_alone_are_learnt(order: str, trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    before = weights_of(nlp)
    if order == "before":
        flat(nlp).add_label("DATE")
    sgd = nlp.resume_training(sgd=AdamW(0.02, weight_decay=0.1))
    old = char_example(nlp, "昨天王芳在南京。", [(0, 2, "DATE"), (2, 4, "ORG")])
    raw = Example(nlp.make_doc(TEXTS[0]), nlp.make_doc(TEXTS[0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in falling(sgd, 60):
            nlp.update([old, raw], sgd=sgd)
            nlp.rehearse([raw], sgd=sgd)
    assert [str(each.message)[:6] for each in caught] == ["[W308]"]
    network = network_of(flat(nlp).model)
    for name, now in weights_of(nlp).items():
        if name in before:
            part = now[: len(before[name])]
            assert (part[:, : len(part)] if name == "crf.transitions" else part).equal(before[name])
        else:
            assert name.startswith("branches.0.")
            assert not name.removeprefix("branches.0.").startswith(("crf", "chars", "words"))
    assert ("DATE", "昨天") in entities(nlp("昨天王芳在南京。"))

    # Labels that come later have a branch of their own, and without any all is learnt.
    again = copy_of(nlp)
    assert again(TEXTS[0]).to_json() == nlp(TEXTS[0]).to_json()
    again.resume_training()
    flat(again).add_label("DRUG")
    flat(again).add_label("DOSE")
    assert again(TEXTS[0]).to_json() == nlp(TEXTS[0]).to_json()
    both, n = network_of(flat(again).model), len(network.tags.roles)
    assert both.trains_last_branch
    assert [len(branch.classify.bias) for branch in both.branches] == [n, 2 * n]
    state, copied = both.state_dict(), both.branches[1].state_dict()  # type: ignore[index]
    for name, weights in copied.items():
        assert weights.equal(state[name][-2 * n :] if "classify" in name else state[name])
    flat(loaded := copy_of(nlp)).add_label("DRUG")  # without a teacher
    assert len([*network_of(flat(loaded).model).branches]) == 2
    middle = weights_of(nlp)
    sgd = nlp.resume_training(sgd=AdamW(0.02))
    nlp.update([old], sgd=sgd)
    changed = {name for name, now in weights_of(nlp).items() if not now.equal(middle[name])}
    assert {"classify.weight", "crf.transitions", "branches.0.classify.weight"} <= changed


@pytest.mark.parametrize("way", ["pickle", "compact", "known"])
def test_branch_is_trained_alone_in_a_copy(way: str, trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    nlp.resume_training()
    if way == "known":
        with pytest.raises(ValueError, match="F230"):
            flat(nlp).add_labels(["LOC"])
    flat(nlp).add_label("DATE")
    if way == "pickle":
        nlp = pickle.loads(pickle.dumps(nlp))
    elif way == "compact":
        Compactor(nlp).apply()
    before = weights_of(nlp)
    nlp.update([char_example(nlp, "昨天下雨。", [(0, 2, "DATE")])], sgd=AdamW(0.02))
    changed = {name for name, now in weights_of(nlp).items() if not now.equal(before[name])}
    assert changed
    assert all(name.startswith("branches.0.") for name in changed)
    assert network_of(flat(nlp).model).starts == [3]


@pytest.mark.parametrize("case", ["beside old ones", "first branch", "loaded", "copied"])
def test_warnings_of_further_training(case: str, trained: Language, copy_of: Copy) -> None:
    nlp, spans, sgd = copy_of(trained), [(0, 2, "DATE")], None
    for label in ["DATE", "DRUG"][: 1 + (case == "first branch")]:
        if case != "beside old ones":
            nlp.resume_training()
        flat(nlp).add_label(label)
        nlp = pickle.loads(pickle.dumps(nlp)) if case == "copied" else copy_of(nlp)
    if case == "loaded":
        flat(nlp).rehearse_with(flat(copy_of(trained)).model)  # type: ignore[attr-defined]
    elif case == "first branch":
        nlp.resume_training()
    elif case == "copied":
        spans, sgd = [*spans, (2, 4, "ORG")], AdamW(0.02)
    batch = [char_example(nlp, "昨天王芳在南京。", spans)]
    batch += examples_of(nlp)[:1] if case == "beside old ones" else []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(10):
            nlp.update(batch, sgd=sgd)
    expected = {"loaded": ["[W307"], "copied": ["[W308"]}.get(case, [])
    assert [str(each.message)[:5] for each in caught] == expected


def test_teacher_that_knows_a_part_of_a_branch(trained: Language, copy_of: Copy) -> None:
    """The branch is learnt as a whole. A teacher of another vocabulary changes nothing."""
    nlp, other, foreign = copy_of(trained), copy_of(trained), blank()
    nlp.resume_training()
    flat(nlp).add_labels(["DATE", "TIME"])
    flat(other).add_label("DATE")
    ner: Any = flat(nlp)
    ner.rehearse_with(flat(other).model)
    assert network_of(ner.model).starts == [len(flat(trained).labels)]
    new = [char_example(nlp, "昨天下雨。", [(0, 2, "DATE")])]
    before = weights_of(nlp)
    nlp.update(new, sgd=nlp.create_optimizer())
    changed = {name for name, now in weights_of(nlp).items() if not now.equal(before[name])}
    assert changed
    assert all(name.startswith("branches.0.") for name in changed)
    add_flat(foreign)
    foreign.initialize(lambda: examples_of(foreign)[:5])
    flat(foreign).add_labels([each for each in ner.labels if each not in flat(foreign).labels])
    teacher = ner._rehearsal_model
    with pytest.raises(ValueError, match="F243"):
        ner.rehearse_with(flat(foreign).model)
    assert ner._rehearsal_model is teacher


@pytest.mark.parametrize("way", ["alone", "others", "branch"])
def test_branch_that_is_trained_further(way: str, trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    nlp.resume_training()
    flat(nlp).add_label("DATE")
    nlp = copy_of(nlp)
    sgd = nlp.resume_training()
    if way == "branch":
        flat(nlp).rehearse_with(copy_of(trained).get_pipe("flat_ner").model)  # type: ignore[attr-defined]
    before = weights_of(nlp)
    new = [char_example(nlp, "昨天下雨。", [(0, 2, "DATE")])]
    raw = Example(nlp.make_doc(TEXTS[0]), nlp.make_doc(TEXTS[0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(12):
            nlp.update(examples_of(nlp) if way == "others" and step == 5 else [*new, raw], sgd=sgd)
    assert ["W309" in str(each.message) for each in caught] == [True] * (way == "alone")
    changed = {name for name, now in weights_of(nlp).items() if not now.equal(before[name])}
    assert all(name.startswith("branches.") for name in changed) == (way == "branch")


def test_rare_tags() -> None:
    options = TENEROptions(num_heads=1, head_dim=4)
    network = TENER(options, TENER.sizes_class(labels=["X", "Y", "Z"], chars=Table(2, 2, 4)))
    crf, n = network.crf, len(TagSet(["X"]))
    scores = (network.classify.weight, network.classify.bias, crf.starts, crf.ends, crf.transitions)
    for each in scores:
        torch.nn.init.normal_(each)
    before = [each.detach().clone() for each in scores]
    network.make_rare(1)
    for number, (old, now) in enumerate(zip(before, scores, strict=True)):
        assert now[:n, :n].equal(old[:n, :n]) if now is crf.transitions else now[:n].equal(old[:n])
        lower = RARE if number == 1 else 0.0
        rows = old[:1].expand(len(old) - n, *old.shape[1:]) - lower
        own = slice(n) if now is crf.transitions else slice(None)
        assert now[n:][..., own].allclose(rows[..., own])
    assert crf.transitions[:, n:].equal(crf.transitions[:, :1].expand(-1, len(crf.starts) - n))


def test_rehearsal_alone(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    nlp.resume_training(sgd=AdamW(0.01))
    raw = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in TEXTS]
    with torch.no_grad():
        network_of(flat(nlp).model).classify.bias[0] += 2.0
    losses = [nlp.rehearse(raw, losses={})["flat_ner"] for _ in range(8)]
    assert losses[-1] < losses[0] / 2
    gold = flat(nlp).rehearse(examples_of(nlp))["flat_ner"]  # reads no annotation
    assert gold == pytest.approx(nlp.rehearse(raw, losses={})["flat_ner"], rel=0.3)
    assert not network_of(flat(nlp)._rehearsal_model).training
    nlp.initialize(lambda: examples_of(nlp))
    assert flat(nlp)._rehearsal_model is None
    assert len(pickle.dumps(flat(nlp))) < 1.2 * len(pickle.dumps(flat(copy_of(trained))))
    for wrong, error in (([raw[0].reference], TypeError), (raw, ValueError)):
        other = blank()
        add_flat(other)
        other.resume_training()
        with pytest.raises(error, match="F303" if error is ValueError else "rehearse"):
            flat(other).rehearse(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "resumed", "taught", "texts", "warns"),
    [
        (10, False, False, "", True),
        (9, False, False, "", False),
        (10, False, False, "raw", True),
        (10, True, True, "raw", False),
        (10, False, False, "silent", False),
        (10, True, False, "", False),
    ],
)
def test_warning_of_forgetting(
    steps: int,
    resumed: bool,
    taught: bool,
    texts: str,
    warns: bool,
    trained: Language,
    copy_of: Copy,
) -> None:
    """Only if updates have entities of added labels alone, and no teacher for raw texts."""
    nlp = copy_of(trained)
    flat(nlp).add_label("DATE")
    spans = [] if texts == "silent" else [(0, 2, "DATE")]
    examples = [char_example(nlp, "昨天下雨。", spans)]
    if texts == "raw":
        examples.append(Example(nlp.make_doc("上海"), nlp.make_doc("上海")))
    if resumed and not taught:
        nlp.update(examples)
    if resumed:
        nlp.resume_training()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(steps):
            nlp.update(examples)
    assert any("W307" in str(each.message) for each in caught) == warns


def test_unannotated_labels_are_labels() -> None:
    nlp = blank()
    add_flat(nlp, unannotated_labels=["GPE"])
    with pytest.raises(ValueError, match=r"F242.*flat_ner.*'GPE'.*'LOC', 'ORG', 'PER'"):
        train(nlp)
