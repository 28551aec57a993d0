"""`re2_similarity` in pipelines: added, trained, saved, copied, and given all kinds of texts."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ner.conftest import LISTENER
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.options import RE2Options
from spacy_flat.similarity.pairs import join_pair
from spacy_flat.vectors import TextVectors

from .conftest import (
    GOLD,
    TEXTS,
    add_re2,
    blank,
    cats_of,
    example,
    examples_of,
    knows_by_heart,
    re2,
    train,
)


def close(first: Any, second: Any) -> bool:
    return bool(np.allclose(first, second, rtol=1e-4, atol=1e-6))


def test_texts_without_the_vectors_that_they_had() -> None:
    """As after a `doc_cleaner`."""
    nlp = blank()
    add_re2(nlp, tok2vec=LISTENER)
    train(nlp, steps=1)
    left, right = nlp("怎么退款"), nlp("如何开发票")
    expected = left.similarity(right), left[:2].similarity(right)
    left.tensor = right.tensor = None
    assert close((left.similarity(right), left[:2].similarity(right)), expected)


# Training


@pytest.mark.parametrize(("segmenter", "inputs"), [("char", "chars"), ("jieba", "tokens")])
def test_learns_pairs_by_heart(segmenter: str, inputs: str) -> None:
    nlp = blank(segmenter)
    pipe = add_re2(nlp, text={"inputs": inputs})
    losses = train(nlp, steps=30)
    assert losses[-1] < 0.1 < losses[0]
    assert knows_by_heart(nlp)
    assert pipe.labels == pipe.label_data == ("different", "same")


def test_more_than_two_classes() -> None:
    nlp = blank()
    pipe = add_re2(nlp)
    labels = ("entailment", "neutral", "contradiction")
    pairs = list(zip(["退款", "付款", "发票"], ["退货", "付钱", "快递"], labels, strict=True))
    examples = [
        example(nlp, left, right, {each: float(each == label) for each in labels})
        for left, right, label in pairs
    ]
    train(nlp, examples)
    scores = nlp.evaluate(examples)
    assert scores["pairs_acc"] == 1.0
    assert pipe.labels == tuple(sorted(labels))
    assert sum(nlp(join_pair("退款", "退货")).cats.values()) == pytest.approx(1)
    with pytest.raises(ValueError, match="F322"):
        pipe.similarity("退款", "退货")
    pipe.positive_label = "entailment"
    assert pipe.similarity("退款", "退货") > 0.5
    pipe.positive_label = "other"
    with pytest.raises(ValueError, match=r"F322.*other"):
        pipe.similarity("退款", "退货")


def test_a_score_is_learnt_by_regression() -> None:
    nlp = blank()
    pipe = add_re2(nlp, network={"objective": "score"})
    wanted = [4.0, 0.5, 2.0, -1.0]
    examples = [
        example(nlp, left, right, {"similarity": score})
        for (left, right), score in zip(TEXTS, wanted, strict=False)
    ]
    train(nlp, examples, steps=40)
    assert pipe.labels == ("similarity",)
    assert pipe.predict_pairs(TEXTS[:4])[:, 0] == pytest.approx(wanted, abs=0.3)
    assert pipe.similarity(*TEXTS[0]) == pytest.approx(4, abs=0.3)
    assert nlp.evaluate(examples)["pairs_spearman"] == 1.0


# Pipelines


CONTEXTUAL = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 12,
    "depth": 3,
    "embed_size": 200,
    "window_size": 3,
    "maxout_pieces": 2,
    "subword_features": True,
}


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_tok2vec_reads_each_text_alone(is_shared: bool, frozen: bool) -> None:
    """Also if it sees far, in training as in prediction, as part of a pair or as a string."""
    fix_random_seed(0)
    nlp = blank()
    if is_shared:
        nlp.add_pipe("tok2vec", config={"model": CONTEXTUAL})
    pipe = add_re2(nlp, tok2vec=LISTENER if is_shared else CONTEXTUAL)
    examples = [*examples_of(nlp), Example(nlp.make_doc("一个文本"), nlp.make_doc("一个文本"))]
    optimizer = nlp.initialize(lambda: examples, sgd=AdamW(0.01))
    options = {"exclude": ["tok2vec"], "annotates": ["tok2vec"]} if is_shared and frozen else {}
    below = nlp.get_pipe("tok2vec").model if is_shared else pipe.model.layers[0]
    before = below.to_bytes()
    for _ in range(15):
        # Nothing is dropped in training here, so that its loss is that of the predictions.
        found = pipe.predict_pairs(TEXTS)[np.arange(len(TEXTS)), GOLD[:, 1].astype(int)]
        losses = nlp.update(examples, sgd=False, losses={}, **options)
        assert losses["re2_similarity"] == pytest.approx(-np.log(found).mean(), rel=1e-3, abs=1e-4)
        nlp.update(examples, sgd=optimizer, **options)
    assert losses["re2_similarity"] < 0.6
    assert (below.to_bytes() == before) == (is_shared and frozen)
    assert close(pipe.predict_pairs(TEXTS), cats_of(nlp))
    docs = list(nlp.pipe([f"前{left}后" for left, _ in TEXTS]))
    spans = [(doc[1 : len(doc) - 1], right) for doc, (_, right) in zip(docs, TEXTS, strict=True)]
    assert close(pipe.predict_pairs(spans[:-1]), pipe.predict_pairs(TEXTS[:-1]))


def test_errors(trained_pairs: Language) -> None:
    nlp = blank()
    pipe, ready = add_re2(nlp), re2(copy.deepcopy(trained_pairs))
    unread = add_re2(nlp, "unread", text={"embed_width": 0})
    no_pair = Example(nlp.make_doc("文本"), nlp.make_doc("文本"))
    no_pair.reference.cats = {"a": 1.0, "b": 0.0}
    one_class = example(nlp, "退款", "付款", {"same": 1.0})
    vectors = TextVectors(["退款"], np.ones((1, 4), dtype=np.float32))
    hidden = Doc(nlp.vocab, words=["how", "are", "you\x1fwhat", "is"])

    calls: list[tuple[str, Callable[[], object]]] = [
        ("F323", lambda: pipe.initialize(lambda: [no_pair])),
        ("F324", lambda: pipe.initialize(lambda: [one_class])),
        ("F325.*word_vectors", lambda: pipe.initialize(list, word_vectors=vectors)),
        ("F327", lambda: unread.initialize(lambda: examples_of(nlp))),
        ("F310.*threshold", lambda: setattr(ready, "threshold", 1.5)),
        ("F305", lambda: RE2Options(hidden=0)),
        ("F312.*number 0", lambda: ready.predict_pairs(("退款", "付款"))),
        ("F312.*number 1", lambda: ready.predict_pairs([("退", "付"), ("退", None)])),
        ("F313", lambda: trained_pairs(hidden)),
        ("F320", lambda: join_pair("退\x1f款", "付款")),
    ]
    for code, call in calls:
        with pytest.raises((ValueError, TypeError), match=code):
            call()


# Prediction


def test_texts_docs_and_spans_are_the_same(trained_pairs: Language) -> None:
    pipe = re2(trained_pairs)
    wanted = pipe.predict_pairs(TEXTS)
    docs = [(trained_pairs(left), trained_pairs(right)) for left, right in TEXTS]
    longer = [(trained_pairs(f"前{left}"), trained_pairs(f"{right}后")) for left, right in TEXTS]
    spans = [(left[1:], right[: len(right) - 1]) for left, right in longer]
    assert close(pipe.predict_pairs(docs), wanted)
    assert close(pipe.predict_pairs(spans), wanted)
    assert pipe.predict_pairs([]).shape == (0, 2)
    assert pipe.predict_pairs(iter(TEXTS)).shape == (len(TEXTS), 2)


def test_a_sourced_component_reads_by_the_pipeline_that_it_is_told() -> None:
    """spaCy hands the very same object to both pipelines, and tells it of none."""
    first = blank()
    add_re2(first, text={"inputs": "tokens"})
    train(first, steps=6)
    second = blank("jieba")
    pipe = second.add_pipe("re2_similarity", source=first)
    assert isinstance(pipe, PairClassifier)
    assert pipe.read([("怎么退款", "付款")]).strings[0] == list("怎么退款")
    pipe.nlp = second
    assert pipe.read([("怎么退款", "付款")]).strings[0] == ["怎么", "退款"]
    assert pipe.similarity("怎么退款", "如何") == pipe.similarity(
        second("怎么退款"), second("如何")
    )


def test_similarity_hooks(trained_pairs: Language) -> None:
    left, right = (trained_pairs(text) for text in TEXTS[0])
    same = re2(trained_pairs).predict_pairs(TEXTS[:1])[0, 1]
    assert left.similarity(right) == right.similarity(left) == pytest.approx(same)
    assert left[:].similarity(right) == pytest.approx(same)
    assert left[0:2].similarity(right[0]) == re2(trained_pairs).similarity("怎么", "如")
    copied = pickle.loads(pickle.dumps(left))
    with pytest.raises(ValueError, match="F326"):
        copied.similarity(right)
    nlp = copy.deepcopy(trained_pairs)
    re2(nlp).similarity_hooks = False
    assert "similarity" not in nlp("退款").user_hooks


def test_scores_of_a_pipeline(trained_pairs: Language) -> None:
    nlp = copy.deepcopy(trained_pairs)
    examples = examples_of(nlp)
    assert nlp.evaluate(examples)["pairs_r"] == 1.0
    before = cats_of(nlp)
    re2(nlp).temperature = 1000.0
    assert 0.4 < cats_of(nlp).min() < cats_of(nlp).max() < 0.6
    assert (cats_of(nlp).argmax(1) == before.argmax(1)).all()
    re2(nlp).threshold = 0.6
    scores = nlp.evaluate(examples)
    assert (scores["pairs_acc"], scores["pairs_r"]) == (0.5, 0.0)
    assert isinstance(nlp(Doc(nlp.vocab, words=[])), Doc)
