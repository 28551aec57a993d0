"""`flat_ner` with a tok2vec of its own, or listening to a shared one."""

import contextlib
import warnings
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from learning import settle
from spacy.language import Language
from spacy.training import Example

from spacy_flat.ner.emissions import network_of
from spacy_flat.nn.optimizers import AdamW

from .conftest import (
    GOLD,
    HASH_EMBED,
    LISTENER,
    TEXTS,
    TINY,
    add_flat,
    blank,
    char_example,
    check_known,
    examples_of,
    flat,
    found,
    train,
)


def with_upstream(segmenter: str, shared: bool) -> tuple[Language, Any]:
    """A pipeline with a tok2vec of its own or a shared one, and the tok2vec's model."""
    nlp = blank(segmenter)
    if shared:
        nlp.add_pipe("tok2vec", config={"model": HASH_EMBED})
    ner = add_flat(nlp, {"model": {**TINY["model"], "tok2vec": LISTENER if shared else HASH_EMBED}})
    upstream = nlp.get_pipe("tok2vec").model if shared else ner.model.get_ref("tok2vec")  # type: ignore[attr-defined]
    return nlp, upstream


@pytest.mark.parametrize("segmenter", ["char", "jieba"])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "listener"])
def test_tok2vec(segmenter: str, shared: bool, tmp_path: Path) -> None:
    nlp, upstream = with_upstream(segmenter, shared)
    train(nlp, steps=1)
    before = upstream.to_bytes()
    silent = Example(nlp.make_doc("上海 在\n北京"), nlp.make_doc("上海 在\n北京"))
    empty = char_example(nlp, "", [])
    sgd = AdamW(0.02)
    settle(nlp, [*examples_of(nlp), silent, empty], sgd, 40)
    check_known(nlp)
    assert upstream.to_bytes() != before
    assert found(nlp) == GOLD
    assert found(nlp, ["", " ", "王小明昨天去了上海。"]) == [[], [], GOLD[1]]
    assert list(nlp.pipe([])) == []
    nlp.to_disk(tmp_path)
    assert found(spacy.load(tmp_path)) == GOLD


@pytest.mark.parametrize("annotation", [{}, {"entities": [(0, 2, "DATE")]}], ids=["none", "added"])
def test_a_component_that_teaches_nothing_answers_a_shared_tok2vec(annotation: Any) -> None:
    """Which backpropagates when the last of its listeners has answered."""
    nlp, upstream = with_upstream("char", shared=True)
    nlp.add_pipe("tagger", config={"model": {"tok2vec": LISTENER}}, before="flat_ner")
    examples = examples_of(nlp)
    for example in examples:
        for token in example.reference:
            token.tag_ = "A" if token.is_punct else "B"
    train(nlp, examples, steps=1)
    upstream.finish_update(AdamW(0.02))
    if annotation:  # is learnt alone
        nlp.resume_training()
    example = Example.from_dict(nlp.make_doc("上海。"), {"tags": ["A"] * 3, **annotation})
    with pytest.warns(match="W310") if annotation else contextlib.nullcontext():
        nlp.update([example], sgd=False)  # type: ignore[arg-type]
    assert any(node.get_grad(n).any() for node in upstream.walk() for n in node.param_names)
    nlp.resume_training()
    with pytest.raises(ValueError, match="F241"):
        nlp.get_pipe("flat_ner").rehearse(examples)  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", ["live", "frozen", "blind", "replaced"])
def test_raw_texts_beside_a_shared_tok2vec(way: str) -> None:
    """The teacher would forget with a tok2vec that learns, and which isn't its own."""
    nlp, _ = with_upstream("char", shared=True)
    train(nlp, steps=5)
    if way == "replaced":
        nlp.replace_listeners("tok2vec", "flat_ner", ["model.tok2vec"])
    config = nlp.config  # a new pipeline, whose listeners have heard nothing
    nlp = spacy.util.load_model_from_config(config).from_bytes(nlp.to_bytes())
    sgd, raw = nlp.resume_training(sgd=AdamW(0.05)), [nlp.make_doc(text) for text in TEXTS]
    frozen = {"exclude": ["tok2vec"], "annotates": ["tok2vec"] if way == "frozen" else []}
    losses = []
    for _ in range(3):
        examples = [Example(doc.copy(), doc) for doc in raw]
        settings: Any = frozen if way in ("frozen", "blind") else {}
        if way in ("live", "blind"):
            with pytest.raises(ValueError, match="F241" if way == "live" else "F366"):
                nlp.update(examples, sgd=sgd, **settings)
            return
        losses.append(nlp.update(examples, sgd=sgd, losses={}, **settings)["flat_ner"])
        if way == "replaced":  # as updates of other texts would change it
            for node in flat(nlp).model.layers[0].walk():
                for name in node.param_names:
                    node.set_param(name, node.get_param(name) * 1.5)
    assert losses[0] < 1e-4
    assert (losses[1] > 1e-3) == (way == "replaced")  # the teacher hears what was


@pytest.mark.parametrize("way", ["own", "frozen", "live"])
def test_old_scores_beside_added_labels(way: str) -> None:
    """They stay, also in the process of the first training, unless a shared tok2vec is trained."""
    nlp, upstream = with_upstream("char", shared=way != "own")
    train(nlp, steps=5)
    if way == "live":  # or spaCy would apply the last gradient of the first training
        nlp = spacy.util.load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
    ner = flat(nlp)
    n = len(network_of(ner.model).tags)

    def old_scores() -> list[torch.Tensor]:
        batches = ner.model.predict(list(nlp.pipe(TEXTS))).batches
        return [each.scores[..., :n] for each in batches]

    before = old_scores()
    sgd = nlp.resume_training(sgd=AdamW(0.02, weight_decay=0.0 if way == "live" else 0.1))
    ner.add_label("DATE")
    new = [char_example(nlp, "昨天下雨。", [(0, 2, "DATE")])]
    frozen: Any = {"exclude": ["tok2vec"], "annotates": ["tok2vec"]} if way == "frozen" else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            nlp.update(new, sgd=sgd, **frozen)
    assert ["W310" in str(each.message) for each in caught] == [True] * (way == "live")
    torch.testing.assert_close(old_scores(), before, atol=0, rtol=0)
    if way == "own":  # nothing is left for a later training
        assert not any(node.get_grad(n).any() for node in upstream.walk() for n in node.grad_names)


def test_unknown_parts_beside_a_shared_tok2vec(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment or a text without annotation doesn't stop the training; a batch of them does."""
    nlp, _ = with_upstream("char", shared=True)
    train(nlp, steps=1)
    sgd = nlp.resume_training(sgd=AdamW(0.05))
    text = TEXTS[1] * 60
    doc = nlp.make_doc(text)
    known = doc.char_span(*GOLD[1][0])
    doc.set_ents([known], missing=[doc[known.end :]])
    teacher = flat(nlp)._rehearsal_model.shims[0].module
    monkeypatch.setattr(teacher, "forward", lambda *inputs: pytest.fail("asked"))
    others = (nlp.make_doc(each) for each in ("", f"{TEXTS[0]} "))
    examples = [Example(nlp.make_doc(each.text), each) for each in (doc, *others)]
    assert nlp.update(examples, sgd=sgd, losses={})["flat_ner"] > 0
    with pytest.raises(ValueError, match="F241"):
        nlp.update(examples[2:], sgd=sgd)


def test_characters_have_their_tokens_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp, upstream = with_upstream("jieba", shared=False)
    train(nlp, steps=1)
    docs = [nlp.make_doc(text) for text in ("𠮷公司 在南京 开会 ", "", "南京市长江大桥\n\n来了")]
    vectors = upstream.predict(docs)
    seen: list[tuple[Any, torch.Tensor]] = []
    module = flat(nlp).model.shims[0].module
    monkeypatch.setattr(module, "forward", lambda *inputs: seen.append(inputs))
    list(flat(nlp).model.predict(docs).batches)
    ((batch, given),) = seen
    for row, segment in enumerate(batch.segments):
        doc = docs[segment.text]
        for token in doc:
            for place in range(token.idx, token.idx + len(token)):
                assert given[row, place].tolist() == vectors[segment.text][token.i].tolist()
        spaces = [token.idx + len(token) for token in doc if token.whitespace_]
        assert not given[row, spaces].any()
        assert not given[row, len(doc.text) :].any()
