"""`re2_similarity` in pipelines: added, trained, saved, copied, and given all kinds of texts."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import spacy
import torch
from ner.conftest import HASH_EMBED, LISTENER
from spacy.cli.evaluate import evaluate as spacy_evaluate
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.featuriser import PairTexts, SpanPairs
from spacy_flat.similarity.options import PairTextOptions, RE2Options
from spacy_flat.similarity.pairs import PAIR, SEPARATOR, join_pair, pair_of
from spacy_flat.vectors import TextVectors

from .conftest import (
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

MIXED = [
    ("", ""),
    ("", " "),
    (" ", "\n"),
    ("a", "京"),
    ("😀", "👨‍👩‍👧"),
    ("How are you?", "你好吗？ fine \t thanks"),
    ("退款 ", " 退款"),
    ("\u3000全角　空格", "\u0000 stray"),
    ("重复" * 300, "重复" * 200 + "退"),
]


def close(first: Any, second: Any) -> bool:
    return bool(np.allclose(first, second, rtol=1e-4, atol=1e-6))


# Training


@pytest.mark.parametrize(
    ("segmenter", "inputs"), [("char", "chars"), ("jieba", "tokens"), ("jieba", "both")]
)
def test_learns_pairs_by_heart(segmenter: str, inputs: str) -> None:
    nlp = blank(segmenter)
    pipe = add_re2(nlp, text={"inputs": inputs})
    losses = train(nlp, steps=30)
    assert losses[-1] < 0.1 < losses[0]
    assert knows_by_heart(nlp)
    assert pipe.labels == pipe.label_data == ("different", "same")
    tables = {"chars": {"chars", "bigrams"}, "tokens": {"words"}}
    network = pipe.model.shims[0].module  # type: ignore[attr-defined]
    known = {name for name in ("chars", "bigrams", "words") if getattr(network, name) is not None}
    assert known == tables.get(inputs, {"chars", "bigrams", "words"})


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


def test_examples_that_teach_nothing_change_nothing() -> None:
    nlp = blank()
    pipe = add_re2(nlp)
    optimizer = nlp.initialize(lambda: examples_of(nlp), sgd=AdamW(0.01))
    before = pipe.model.to_bytes()
    no_pair = Example(nlp.make_doc("一个文本"), nlp.make_doc("一个文本"))
    unknown = example(nlp, "退款", "付款", {"topic": 1.0})
    with pytest.warns(UserWarning, match="W320"):
        losses = nlp.update([no_pair, unknown], sgd=optimizer, losses={})
    assert losses == {"re2_similarity": 0.0}
    assert pipe.model.to_bytes() == before
    beside = [nlp.update([*examples_of(nlp), no_pair, unknown], losses={})["re2_similarity"]]
    assert beside[0] > 0


def test_pairs_of_other_labels_trigger_a_warning(trained_pairs: Language) -> None:
    nlp = copy.deepcopy(trained_pairs)
    others = [example(nlp, *TEXTS[0], {"是": 1.0, "否": 0.0})]
    for use in (nlp.update, nlp.evaluate):
        with pytest.warns(UserWarning, match=r"W320.*'different', 'same'.*\['否', '是'\]"):
            use(others)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            use([*others, *examples_of(nlp)])


def test_get_loss_changes_nothing_and_agrees_with_update() -> None:
    nlp = blank()
    pipe = add_re2(nlp)
    examples = examples_of(nlp)
    train(nlp, examples, steps=2)
    pairs, _ = pipe._gold(examples)
    before = pipe.model.to_bytes()
    loss, gradients = pipe.get_loss(examples, pipe.model.predict(pairs))
    assert pipe.model.to_bytes() == before
    assert sum(map(len, gradients)) == len(examples)
    assert loss == pytest.approx(pipe.update(examples)["re2_similarity"], rel=1e-4)


def test_a_pair_must_be_one_when_it_is_predicted() -> None:
    """Spans in the reference alone would be trained on, and never predicted."""
    nlp = blank()
    pipe = add_re2(nlp)
    reference = nlp.make_doc("问：怎么退款 答：如何退款")
    reference.spans[PAIR] = [reference[2:6], reference[9:13]]
    reference.cats = {"same": 1.0, "different": 0.0}
    lost = Example(nlp.make_doc(reference.text), reference)
    with pytest.raises(ValueError, match=r"F314.*问：怎么退款"):
        pipe.initialize(lambda: [lost])
    kept = Example(reference.copy(), reference)
    pipe.initialize(lambda: [kept, *examples_of(nlp)])
    assert pipe.update([kept])["re2_similarity"] > 0


def test_through_a_corpus(trained_pairs: Language, tmp_path: Path) -> None:
    docs = DocBin(store_user_data=True)
    for eg in examples_of(trained_pairs):
        docs.add(eg.reference)
    docs.to_disk(tmp_path / "pairs.spacy")
    examples = list(Corpus(tmp_path / "pairs.spacy")(trained_pairs))
    scores = trained_pairs.evaluate(examples)
    assert scores["pairs_acc"] == scores["pairs_f"] == scores["pairs_auc"] == 1.0
    trained_pairs.to_disk(tmp_path / "model")
    printed = spacy_evaluate(tmp_path / "model", tmp_path / "pairs.spacy")
    assert printed["cats_score"] == 1.0


# Pipelines


def test_another_config_is_refused(trained_pairs: Language, tmp_path: Path) -> None:
    trained_pairs.to_disk(tmp_path)
    config = trained_pairs.config.copy()
    config["components"]["re2_similarity"]["model"]["network"]["variant"] = {"kernel_sizes": [5]}
    with pytest.raises(ValueError, match=r"F307.*kernel_sizes"):
        spacy.util.load_model_from_config(config).from_disk(tmp_path)


def check_alone_as_in_a_pair(nlp: Language) -> None:
    """A tok2vec may look beyond the separator, so that these are not quite the same."""
    found = re2(nlp).predict_pairs(TEXTS).argmax(1) == cats_of(nlp).argmax(1)
    assert found.mean() >= 0.8


def test_tok2vec_within() -> None:
    nlp = blank("jieba")
    add_re2(nlp, tok2vec=HASH_EMBED, text={"inputs": "tokens"})
    before, *_, after = train(nlp, steps=40)
    assert after < before / 3
    check_alone_as_in_a_pair(nlp)


def test_listener() -> None:
    nlp = blank("jieba")
    add_re2(nlp, tok2vec=LISTENER)
    tok2vec = nlp.get_pipe("tok2vec")
    examples = [*examples_of(nlp), Example(nlp.make_doc("一个文本"), nlp.make_doc("一个文本"))]
    losses = train(nlp, examples, steps=1)
    weights = tok2vec.model.to_bytes()  # type: ignore[attr-defined]
    losses += [nlp.update(examples, sgd=AdamW(0.01))["re2_similarity"] for _ in range(40)]
    assert tok2vec.model.to_bytes() != weights  # type: ignore[attr-defined]
    assert losses[-1] < losses[0] / 3
    # Texts go through the tok2vec first, as in the pipeline.
    check_alone_as_in_a_pair(nlp)
    before = cats_of(nlp)
    nlp.replace_listeners("tok2vec", "re2_similarity", ["model.tok2vec"])
    assert close(cats_of(nlp), before)


def test_errors(trained_pairs: Language) -> None:
    nlp = blank()
    pipe, ready = add_re2(nlp), re2(copy.deepcopy(trained_pairs))
    examples = examples_of(nlp)
    no_pair = Example(nlp.make_doc("文本"), nlp.make_doc("文本"))
    no_pair.reference.cats = {"a": 1.0, "b": 0.0}
    one_class = example(nlp, "退款", "付款", {"same": 1.0})
    vectors = TextVectors(["退款"], np.ones((1, 4), dtype=np.float32))
    score = add_re2(blank(), network={"objective": "score"})
    score.add_label("similarity")
    hidden = Doc(nlp.vocab, words=["how", "are", "you\x1fwhat", "is"])
    one_span = nlp.make_doc("三个文本")
    one_span.spans[PAIR] = [one_span[:1]]

    def init(found: list[Example], **arguments: Any) -> Callable[[], object]:
        return lambda: pipe.initialize(lambda: found, **arguments)

    def change(setting: str, value: object) -> Callable[[], object]:
        return lambda: setattr(ready, setting, value)

    def predict(pairs: Any, **arguments: Any) -> Callable[[], object]:
        return lambda: ready.predict_pairs(pairs, **arguments)

    calls: list[tuple[str, Callable[[], object]]] = [
        ("F026", init(examples, labels="same")),
        ("F302", init(examples, labels=["same", ""])),
        ("F323", init([no_pair])),
        ("F324", init([one_class])),
        ("F324", lambda: score.add_label("another")),
        ("F325.*word_vectors", init(examples, word_vectors=vectors)),
        ("F040", init(examples, char_vectors="vectors.vec")),
        ("F310.*threshold", change("threshold", 1.5)),
        ("F310.*temperature", change("temperature", 0)),
        ("F310.*positive_label", change("positive_label", "")),
        ("F305", lambda: RE2Options(kernel_sizes=[3, 5], hidden=7)),
        ("F305", lambda: RE2Options(kernel_sizes=[])),
        ("F312.*number 0", predict(("退款", "付款"))),
        ("F312.*number 1", predict([("退", "付"), "退款"])),
        ("F311.*pair number 1.*None", predict([("退", "付"), ("退", None)])),
        ("F341.*batch_size", predict(TEXTS, batch_size=0)),
        ("F313", lambda: trained_pairs(hidden)),
        ("F321", lambda: trained_pairs(one_span)),
        ("F320", lambda: join_pair("退\x1f款", "付款")),
    ]
    for code, call in calls:
        with pytest.raises((ValueError, TypeError), match=code):
            call()


def test_labels_may_be_given() -> None:
    nlp = blank()
    pipe = add_re2(nlp)
    pipe.initialize(lambda: examples_of(nlp), labels=["same", "different"])
    assert pipe.labels == ("same", "different")
    assert pipe.positive == "different"
    other = Example(nlp.make_doc("文本"), nlp.make_doc("文本"))
    other.reference.cats = {"topic": 1.0}
    pipe = add_re2(blank())
    pipe.initialize(lambda: [other, *examples_of(nlp)])
    assert pipe.labels == ("different", "same")


def test_pretrained_vectors() -> None:
    """Frozen, or with trained offsets; those of characters that occur in no training text, too."""
    characters = list("怎么退款如何付钱币")
    vectors = TextVectors(characters, np.random.default_rng(0).normal(size=(9, 6)).astype("f"))
    for fine_tune in (True, False):
        nlp = blank()
        pipe = add_re2(nlp, text={"fine_tune": fine_tune, "bigrams": False})
        pipe.initialize(lambda nlp=nlp: examples_of(nlp), char_vectors=vectors)  # type: ignore[misc]
        chars = pipe.model.shims[0].module.chars  # type: ignore[attr-defined]
        before = pipe.predict_pairs([("币", "钱")])
        assert not close(before, pipe.predict_pairs([("币", "𠮷")]))
        key = int(pipe.model.attrs["featuriser"].chars.look_up(np.array([ord("退")], np.uint64))[0])
        start = chars(torch.tensor([key])).detach().clone()
        for _ in range(3):
            nlp.update(examples_of(nlp), sgd=AdamW(0.01))
        moved = chars(torch.tensor([key])).detach()
        assert torch.equal(start, moved) is not fine_tune


# Prediction


def test_all_kinds_of_texts(trained_pairs: Language) -> None:
    cats = cats_of(trained_pairs, MIXED)
    assert close(cats.sum(1), 1)
    assert close(re2(trained_pairs).predict_pairs(MIXED), cats)


@pytest.mark.parametrize("kernel_sizes", [[5], [4, 1], [7, 3]])
def test_convolutions_see_one_text(kernel_sizes: list[int]) -> None:
    """However far they see, the texts beside it in the batch are not among it."""
    nlp = blank()
    pipe = add_re2(nlp, network={"kernel_sizes": kernel_sizes})
    train(nlp, steps=3)
    alone = np.concatenate([pipe.predict_pairs([pair]) for pair in TEXTS])
    assert close(pipe.predict_pairs(TEXTS), alone)


def test_batches_are_of_pairs_of_like_length(trained_pairs: Language) -> None:
    encoder = replace(
        re2(trained_pairs).model.attrs["featuriser"], options=PairTextOptions(batch_size=60)
    )
    docs = [trained_pairs.make_doc("退" * n) for n in (2, 20, 3, 19, 2, 20, 3, 19)]
    pairs = SpanPairs(docs, [(doc[:], doc[:]) for doc in docs])
    texts = PairTexts.of(pairs, encoder.unit)
    found = [sorted(batch.pairs.tolist()) for batch in encoder.batches(texts)]
    assert found[0] == [0, 2, 4, 6]
    assert sorted(number for batch in found for number in batch) == list(range(8))
    sides = [batch.comparison.left.rows for batch in encoder.batches(texts)]
    assert all(2 * side.size <= 60 or len(side) == 1 for side in sides)


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


def test_components_behind_and_disabled_ones_do_not_run() -> None:
    nlp = blank("jieba")
    nlp.add_pipe("sentencizer", name="disabled")
    add_re2(nlp, tok2vec=LISTENER)
    nlp.add_pipe("sentencizer", name="behind")
    train(nlp, steps=1)
    nlp.disable_pipe("disabled")
    assert re2(nlp).components_before() == [nlp.get_pipe("tok2vec")]
    pipe = re2(nlp)
    nlp.disable_pipe("re2_similarity")
    assert pipe.components_before() == [nlp.get_pipe("tok2vec")]


def docs_read(pipe: PairClassifier, use: Callable[[], object]) -> int:
    """How many Docs the tok2vec reads meanwhile."""
    read: list[Doc] = []
    tok2vec = pipe.model.get_ref("tok2vec")

    def reading_along(model: Any, docs: list[Doc], is_train: bool) -> Any:
        read.extend(docs)
        return forward(model, docs, is_train)

    forward, tok2vec._func = tok2vec._func, reading_along
    use()
    tok2vec._func = forward
    return len(read)


def test_a_tok2vec_reads_a_doc_once() -> None:
    nlp = blank()
    pipe = add_re2(nlp, tok2vec=HASH_EMBED)
    train(nlp, steps=1)
    long, other = nlp.make_doc("快递几天到，能开发票吗。" * 20), nlp.make_doc("怎么退款")
    spans = [long[i : i + 6] for i in range(0, 240, 6)]
    pairs = [(span, other) for span in spans]
    found = pipe.predict_pairs(pairs)
    assert docs_read(pipe, lambda: pipe.predict_pairs(pairs, batch_size=3)) == 2
    assert close(pipe.predict_pairs(pairs, batch_size=3), found)
    with patch("spacy_flat.similarity.index.CHARACTERS", 20):
        distinct = [long[i : i + 6 + i] for i in range(0, 40, 2)]
        assert docs_read(pipe, lambda: pipe.index(distinct)) == 1
        index = pipe.index(distinct)
    expected = pipe.similarities(pipe.predict_pairs([(other, span) for span in distinct]))
    for match in index.search(other, top_k=50):
        assert match.similarity == pytest.approx(float(expected[match.number]), abs=2e-3)
    # Nothing of it stays: a Doc may have changed until the next call.
    assert docs_read(pipe, lambda: pipe.predict_pairs(pairs)) == 2


def test_a_sourced_component_reads_by_the_pipeline_that_it_is_told() -> None:
    """spaCy hands the very same object to both pipelines, and tells it of none."""
    first = blank()
    add_re2(first, text={"inputs": "tokens"})
    train(first, steps=6)
    second = blank("jieba")
    pipe = second.add_pipe("re2_similarity", source=first)
    assert isinstance(pipe, PairClassifier)
    assert [len(span) for span in pipe.spans_of(["怎么退款"])] == [4]
    pipe.nlp = second
    assert [token.text for token in pipe.spans_of(["怎么退款"])[0]] == ["怎么", "退款"]
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


def test_other_docs_stay_as_they_are(trained_pairs: Language) -> None:
    for text in ("", "一个文本", f"三{SEPARATOR}个{SEPARATOR}文本"):
        doc = trained_pairs(text)
        assert not doc.cats
        assert not doc.spans


def test_what_other_components_wrote_stays(trained_pairs: Language) -> None:
    doc = trained_pairs.make_doc(join_pair(*TEXTS[0]))
    doc.cats = {"topic": 0.3}
    doc.spans["other"] = [doc[:2]]
    doc = trained_pairs(doc)
    assert doc.cats["topic"] == 0.3
    assert doc.cats["same"] > 0.5
    assert set(doc.spans) == {"other", PAIR}


@pytest.mark.parametrize("text", ["退 \x1f 付 款", "a b\x1f c ", "\x1f", " \x1f", "a\x1f", "\x1fa"])
@pytest.mark.parametrize("segmenter", ["char", "jieba"])
def test_both_sides_of_the_separator(text: str, segmenter: str) -> None:
    pair = pair_of(blank(segmenter).make_doc(text))
    assert pair is not None
    assert [span.text.strip() for span in pair] == [side.strip() for side in text.split("\x1f")]


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


def test_another_tokenizer_triggers_a_warning() -> None:
    def pipeline(segmenter: str) -> Language:
        nlp = blank(segmenter)
        nlp.add_pipe("re2_similarity", config={"model": {"text": {"inputs": "tokens"}}})
        return nlp

    first, second = ("怎么修改登录密码", "如何更改登录密码"), ("订单什么时候发货", "如何申请退款")
    pairs = [join_pair(*pair) for pair in (first, second) * 4]
    trained, same, other = map(pipeline, ("jieba", "jieba", "char"))
    trained.initialize(lambda: examples_of(trained, [(*first, "same"), (*second, "different")]))
    for nlp in (same, other):
        re2(nlp).from_bytes(re2(trained).to_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(same.pipe([join_pair("How do I change my password", "Reset password")] * 9))
        list(same.pipe([join_pair("ThinkPad Carbon支持什么", "Kubernetes支持什么")] * 9))
        list(same.pipe(pairs))
    with pytest.warns(UserWarning, match=r"W304.*re2_similarity"):
        list(other.pipe(pairs))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(other.pipe(pairs))  # told once
    sourced = spacy.blank("zh")
    sourced.add_pipe("re2_similarity", source=trained)
    with pytest.warns(UserWarning, match="W304"):
        list(sourced.pipe(pairs))
