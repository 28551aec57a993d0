"""An index of texts that stay: what is found is what comparing each pair would say."""

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ner.conftest import HASH_EMBED, LISTENER
from safetensors.numpy import save
from spacy.language import Language
from spacy.tokens import Doc

from spacy_flat.nn.model import shim_of
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity import index as module
from spacy_flat.similarity.candidates import best_of, terms_of
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.encoded import EncodedTexts, QueryText
from spacy_flat.similarity.index import (
    CHARACTERS,
    FILE,
    HEADER,
    Match,
    TextIndex,
    batches_of,
    weights_of,
)
from spacy_flat.similarity.network import RE2
from spacy_flat.similarity.ranking import (
    DEFAULT,
    FEATURES,
    NETWORK_ONLY,
    SearchExamples,
    features_of,
    fit_ranking,
    probabilities,
)

from .conftest import PAIRS, add_re2, blank, examples_of, re2, train

TEXTS = list(dict.fromkeys(text for pair in PAIRS for text in pair[:2]))
QUERIES = ["怎么退款？", "几天到", "15 price", "？", "完全无关", TEXTS[3]]
TOLERANCE = 2e-3  # half precision


def made(steps: int = 0, **options: Any) -> PairClassifier:
    """The component in a pipeline of its own, trained where `steps` are given."""
    nlp = blank()
    pipe = add_re2(nlp, **options)
    if steps:
        train(nlp, steps=steps)
    return pipe


@pytest.fixture
def trained(trained_pairs: Language) -> Callable[[], Language]:
    """New copies of the trained pipeline."""
    return lambda: copy.deepcopy(trained_pairs)


@pytest.fixture
def pipe(trained: Callable[[], Language]) -> PairClassifier:
    return re2(trained())


@pytest.fixture
def index(pipe: PairClassifier) -> TextIndex:
    return pipe.index(TEXTS)


def assert_like_pairs(
    pipe: PairClassifier, texts: list[Any], query: Any, found: list[Match]
) -> None:
    """All texts were found, with the similarity that a comparison of the pair says, in order."""
    expected = pipe.similarities(pipe.predict_pairs([(query, text) for text in texts]))
    assert sorted(match.number for match in found) == list(range(len(texts)))
    for match in found:
        assert match.similarity == pytest.approx(float(expected[match.number]), abs=TOLERANCE)
        text = texts[match.number]
        assert match.text == (text if isinstance(text, str) else text.text)
    order = [(-match.similarity, match.number) for match in found]
    assert order == sorted(order)


# What is found


@pytest.mark.parametrize(
    ("segmenter", "options"),
    [
        ("char", {}),
        ("jieba", {"text": {"inputs": "tokens"}}),
        # The order of the texts matters.
        ("jieba", {"text": {"inputs": "both"}, "network": {"prediction": "full"}}),
        ("char", {"network": {"connection": "residual", "kernel_sizes": [1, 4]}}),
        ("char", {"tok2vec": HASH_EMBED}),
        ("char", {"tok2vec": LISTENER}),
    ],
    ids=str,
)
def test_as_comparing_all_pairs(segmenter: str, options: dict[str, Any], tmp_path: Path) -> None:
    nlp = blank(segmenter)
    pipe = add_re2(nlp, **options)
    train(nlp, steps=3)
    index = pipe.index(TEXTS)
    for query in QUERIES:
        assert_like_pairs(pipe, TEXTS, query, index.search(query, top_k=100))
    index.save(tmp_path)
    assert pipe.load_index(tmp_path).search(QUERIES[0]) == index.search(QUERIES[0])


def test_docs_and_spans(trained: Callable[[], Language]) -> None:
    nlp = trained()
    pipe = re2(nlp)
    docs = [nlp(text) for text in TEXTS]
    mixed: list[Any] = [docs[0], docs[1][1:3], TEXTS[2], *docs[3:]]
    index = pipe.index(mixed)
    assert_like_pairs(pipe, mixed, docs[0], index.search(docs[0], top_k=100))
    assert_like_pairs(pipe, mixed, docs[0][1:], index.search(docs[0][1:], top_k=100))


def test_the_similarity_is_that_of_the_positive_label() -> None:
    pipe = made(3, positive_label="different")
    index = pipe.index(["如何退款"])
    for temperature in (1.0, 3.0):
        pipe.temperature = temperature
        ((_, _, similarity, _),) = index.search("怎么退款")
        (found,) = pipe.predict_pairs([("怎么退款", "如何退款")])
        expected = found[pipe.labels.index("different")]
        assert similarity == pytest.approx(expected, abs=TOLERANCE)


def test_the_similarity_is_a_score() -> None:
    pipe = made(network={"objective": "score"})
    examples = examples_of(pipe.nlp)
    for example in examples:
        example.reference.cats = {"score": 5 * example.reference.cats["same"]}
    pipe.nlp.initialize(lambda: examples)
    index = pipe.index(TEXTS)
    index.ranking = [0.0] * len(FEATURES)  # of no use for a score
    assert_like_pairs(pipe, TEXTS, "怎么退款", index.search("怎么退款", top_k=100))
    assert index.search("怎么退款", min_similarity=1000) == []
    with pytest.raises(ValueError, match=r"F341.*a finite number"):
        index.search("怎么退款", min_similarity=float("nan"))


def test_number_of_matches(index: TextIndex) -> None:
    assert len(index.search("退款")) == 5
    assert len(index.search("退款", top_k=2)) == 2
    assert index.search("退款", top_k=2) == index.search("退款", top_k=4)[:2]
    assert len(index.search("退款", top_k=8, candidates=1)) == 8
    assert len(index.search("退款", top_k=100, candidates=1)) == len(TEXTS)


def test_candidates_are_what_has_most_in_common(index: TextIndex) -> None:
    found = index.search("快递几天", top_k=2, candidates=2)
    assert {match.text for match in found} == {"快递几天到", "几天能收到快递"}


def test_equal_texts_are_all_found_in_order(pipe: PairClassifier) -> None:
    index = pipe.index(["如何退款", "快递多少钱", "如何退款", "怎么退款", "如何退款"])
    assert index.texts == ["如何退款", "快递多少钱", "如何退款", "怎么退款", "如何退款"]
    found = index.search("如何退款", top_k=5, candidates=1)
    assert [match.number for match in found if match.text == "如何退款"] == [0, 2, 4]
    assert len({match.similarity for match in found if match.text == "如何退款"}) == 1
    assert [match.number for match in index.search("如何退款", top_k=1)] == [
        index.search("如何退款", top_k=5)[0].number
    ]


def test_of_texts_that_are_equally_alike_the_first_stands_first(pipe: PairClassifier) -> None:
    """White space at the end makes no difference to the network."""
    found = pipe.index(["龘", "龘 ", "龘"]).search("齉")
    assert len({match.similarity for match in found}) == 1
    assert [match.number for match in found] == [0, 1, 2]


def test_many_texts_in_several_batches(
    trained: Callable[[], Language], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text * n for n in (1, 5, 2) for text in TEXTS]
    pipe = made(text={"batch_size": 50})
    pipe.nlp.from_bytes(trained().to_bytes())
    monkeypatch.setattr("spacy_flat.similarity.index.CHARACTERS", 20)
    assert_like_pairs(pipe, texts, "怎么退款", pipe.index(texts).search("怎么退款", top_k=100))


def test_threads_find_the_same(index: TextIndex) -> None:
    expected = [index.search(query) for query in QUERIES]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: [index.search(query) for query in QUERIES], range(20)):
            assert found == expected


def test_copies_change_apart(index: TextIndex) -> None:
    before = len(index)
    for other in (copy.copy(index), copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        other.add(["另一个问题"])
        assert (len(other), len(index)) == (before + 1, before)


def test_an_index_with_jiebas_tokenizer_is_not_pickled(tmp_path: Path) -> None:
    nlp = blank("jieba")
    pipe = add_re2(nlp)
    train(nlp, steps=1)
    index = pipe.index(TEXTS)
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"F352.*'re2_similarity'.*load_index"):
            copied(index)
    other = copy.copy(index)
    other.add(["另一个问题"])
    assert (len(other), len(index)) == (len(TEXTS) + 1, len(TEXTS))
    index.save(tmp_path)
    assert pipe.load_index(tmp_path).questions == index.questions


def test_threads_add_and_remove() -> None:
    index = made(steps=1).index(["怎么退款"])

    def work(text: str) -> int:
        (added,) = index.add([text])
        (other,) = index.add(["多余"])
        index.remove([other])
        return added

    texts = [f"问题{number}" for number in range(12)]
    with ThreadPoolExecutor(3) as pool:
        assert len({*pool.map(work, texts)}) == 12
    assert {text for (text, *_), _ in index.questions} == {"怎么退款", *texts}


ODD = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1)


@settings(max_examples=15)
@given(texts=ODD, query=st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_odd_texts(texts: list[str], query: str) -> None:
    pipe = shared_pipe()
    found = pipe.index(texts).search(query, top_k=len(texts))
    if query.strip():
        assert_like_pairs(pipe, texts, query, found)
    else:
        assert found == []


@cache
def shared_pipe() -> PairClassifier:
    return made(5)


# Questions


def test_phrasings_and_answers(pipe: PairClassifier, tmp_path: Path) -> None:
    index = pipe.index([["如何退款", "怎么退款"], "快递多少钱"], ["三天内", ""])
    assert (len(index), index.texts) == (2, ["如何退款", "怎么退款", "快递多少钱"])
    found = index.search("怎么退款？")
    assert [match.number for match in found] == [0, 1]
    assert found[0] == Match(0, "怎么退款", 1.0, "三天内")
    index.save(tmp_path)
    loaded = pipe.load_index(tmp_path)
    assert (
        loaded.questions
        == index.questions
        == [(["如何退款", "怎么退款"], "三天内"), (["快递多少钱"], "")]
    )
    assert loaded.search("快递") == index.search("快递")
    with pytest.raises(ValueError, match=r"F335.*1 and 2"):
        pipe.index(["如何退款"], ["三天内", ""])
    with pytest.raises(TypeError, match="F026"):
        index.add(["如何退款", "怎么办卡"], "好的")


def test_questions_come_and_go(pipe: PairClassifier, index: TextIndex, tmp_path: Path) -> None:
    n = len(TEXTS)
    assert index.add(["怎么办卡", ["怎么挂失", TEXTS[0]]], ["在窗口", "打电话"]) == [n, n + 1]
    assert index.search("怎么办卡", top_k=1) == [Match(n, "怎么办卡", 1.0, "在窗口")]
    index.remove([n, 0])
    assert len(index) == n
    assert [match.number for match in index.search(TEXTS[0], top_k=1)] == [n + 1]
    index.remove([n + 1])
    assert index.contents.answers == {}  # nor does a file keep them
    index.save(tmp_path)
    assert pipe.load_index(tmp_path).add(["怎么办卡"]) == [n + 2]  # numbers don't return
    expected = pipe.index(TEXTS[1:]).search("退款", top_k=100)
    found = index.search("退款", top_k=100)
    assert [match[1:] for match in found] == [match[1:] for match in expected]
    with pytest.raises(KeyError, match=r"F351.*0"):
        index.remove([0])
    with pytest.raises(ValueError, match="F330"):
        index.remove(range(1, n))


def test_texts_are_encoded_in_batches_of_bounded_size() -> None:
    texts = ["甲" * n for n in (CHARACTERS // 2, CHARACTERS // 2, 1, CHARACTERS + 1, 1)]
    assert [len(some) for some in batches_of(texts)] == [2, 1, 1, 1]


def test_the_least_similarity(index: TextIndex) -> None:
    found = index.search("退款", top_k=100)
    least = found[3].similarity
    assert index.search("退款", top_k=100, min_similarity=least) == [
        match for match in found if match.similarity >= least
    ]
    assert index.search("退款", min_similarity=1.0) == []


def test_equal_texts_come_first(pipe: PairClassifier) -> None:
    index = pipe.index(["可以退货吗", "怎么退款", "如何退款"])
    for query in ("如何退款", " 如何 退款？", "如何退款。"):
        assert index.search(query)[0] == Match(2, "如何退款", 1.0)
        assert pipe.similarity(query, "如何退款") == 1.0


def test_equal_texts_need_not_share_characters(pipe: PairClassifier) -> None:
    index = pipe.index(["發髮頭體", "开发票吗", "頭髮護理"])
    assert index.search("開發票嗎", top_k=1, candidates=1) == [Match(1, "开发票吗", 1.0)]
    assert len(index.search("開發票嗎", candidates=1)) == 3


def test_strings_are_cut_in_simplified_characters(pipe: PairClassifier) -> None:
    assert [doc.text for doc in pipe.make_docs(["開發票嗎", "怎么退款"])] == [
        "开发票吗",
        "怎么退款",
    ]


def test_fitted_weights_count(trained: Callable[[], Language], tmp_path: Path) -> None:
    nlp = trained()
    pipe = re2(nlp)
    before = pipe.index(TEXTS)
    with pytest.warns(UserWarning, match=r"W332.*only 10 texts"):
        weights = pipe.fit_search(examples_of(nlp))
    assert (len(weights), pipe.ranking) == (len(FEATURES), tuple(weights))
    assert before.ranking == tuple(NETWORK_ONLY)  # it is the index that keeps them
    index = pipe.index(TEXTS)
    (found,) = index.search("几天收到快递", top_k=1)
    assert found.text in ("快递几天到", "几天能收到快递")
    index.save(tmp_path / "index")
    nlp.to_disk(tmp_path / "pipeline")
    loaded = re2(spacy.load(tmp_path / "pipeline"))
    assert loaded.ranking == pytest.approx(pipe.ranking)
    assert loaded.load_index(tmp_path / "index").search("退款") == index.search("退款")
    for pairs in ([], [("怎么退款", "怎么退款", "same"), ("退款", "退款", "same")]):
        with pytest.raises(ValueError, match="F354"):
            pipe.fit_search(examples_of(nlp, pairs))
    with pytest.raises(ValueError, match="F341"):
        pipe.fit_search(examples_of(nlp), queries=0)
    nlp.initialize(lambda: examples_of(nlp))
    assert pipe.ranking == tuple(NETWORK_ONLY)  # as in the config


def test_a_question_of_many_phrasings_leaves_room(pipe: PairClassifier) -> None:
    same = [f"怎么退款{number}" for number in range(60)]
    index = pipe.index([same, "快递几天能到", "可以开发票吗"])
    matches = index.search("怎么退款", top_k=3, candidates=5)
    assert {match.number for match in matches} == {0, 1, 2}
    assert len(index.search("怎么退款", top_k=9, candidates=5)) == 3


def test_terms_are_those_of_simplified_characters(pipe: PairClassifier) -> None:
    index = pipe.index(["发票怎么开", "退款要几天", "修改收货地址"])
    index.ranking = [float(name == "bm25") for name in FEATURES]
    found, expected = (
        [(match.number, match.similarity) for match in index.search(query)]
        for query in ("發票開了嗎", "发票开了吗")
    )
    assert found == expected
    assert found[0][0] == 0
    index.add(["發票抬頭"])
    assert index.search("发票抬头", top_k=1)[0].number == 3


def test_questions_are_copies(pipe: PairClassifier) -> None:
    index = pipe.index([["a", "b"]])
    index.questions[0][0].append("c")
    index.add(["d"])
    assert index.texts == ["a", "b", "d"]


def test_search_stays_without_the_network(trained: Callable[[], Language]) -> None:
    """If it had no part in it before."""
    pipe = re2(trained())
    pipe.search_weights = [0.0, 5.0, 5.0, -8.0]
    pipe.fit_search(examples_of(pipe.nlp))
    assert pipe.ranking[0] == 0
    pipe.search_weights = None
    assert pipe.fit_search(examples_of(pipe.nlp))[0] > 0


def test_a_network_without_weight_is_not_asked(
    pipe: PairClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe.search_weights = [0.0, 5.0, 5.0, -8.0]
    index = pipe.index(TEXTS)
    features = index.features("几天到", 100)
    expected = dict(zip(features[0], probabilities(features[1], pipe.ranking), strict=True))
    monkeypatch.setattr(EncodedTexts, "compare", None)
    monkeypatch.setattr(RE2, "encode", None)
    for match in index.search("几天到", top_k=100):
        assert match.similarity == pytest.approx(expected[match.text])


def test_weights_fitted_to_a_calibrated_pipeline_are_saved(
    trained: Callable[[], Language], tmp_path: Path
) -> None:
    """JSON changes the last bit of such numbers."""
    nlp = trained()
    re2(nlp).search_weights = [0.389753, 10.588108, 1.541444, -11.540254]
    re2(nlp).write_settings(nlp.get_pipe_config("re2_similarity"))
    nlp.to_disk(tmp_path / "calibrated")
    nlp = spacy.load(tmp_path / "calibrated")
    re2(nlp).search_weights = [0.0, 8.8, 4.6, -10.5]
    nlp.to_disk(tmp_path / "fitted")
    assert re2(spacy.load(tmp_path / "fitted")).ranking == (0.0, 8.8, 4.6, -10.5)


def test_the_fitted_probability_is_that_of_the_first_being_right() -> None:
    """Half of the queries whose best cosine is 0.6 are right, all with 0.9, none with 0.2."""
    best = np.array([0.9, 0.6, 0.6, 0.2] * 50)
    is_right = np.array([True, True, False, False] * 50)
    cosines = np.stack([best, best - 0.3], axis=1).ravel()
    features = features_of(np.full(400, 0.5), cosines, np.zeros(400))
    gold = np.stack([is_right, np.zeros(200, dtype=bool)], axis=1).ravel()
    starts = np.tile([True, False], 200)
    weights = fit_ranking([SearchExamples(features, gold, starts, is_right.repeat(2))])
    found = probabilities(
        features_of(np.full(3, 0.5), np.array([0.9, 0.6, 0.2]), np.zeros(3)), weights
    )
    assert found[0] > 0.9
    assert found[1] == pytest.approx(0.5, abs=0.05)
    assert found[2] < 0.1


def test_queries_with_an_answer_count_half() -> None:
    """However many there are, and each FAQ as much as another."""

    def examples(n_right: int, n_wrong: int) -> SearchExamples:
        """All look the same."""
        answered = np.array([True] * n_right + [False] * n_wrong)
        n = len(answered)
        features = features_of(np.full(n, 0.5), np.full(n, 0.5), np.zeros(n))
        return SearchExamples(features, answered, np.ones(n, dtype=bool), answered)

    for few in ([examples(9, 3)], [examples(2, 30)], [examples(9, 3), examples(2, 30)]):
        weights = fit_ranking(few)
        assert probabilities(few[0].features, weights)[0] == pytest.approx(0.5, abs=0.01)
    assert examples(3, 0).shares.sum() == pytest.approx(1)


def test_no_feature_counts_against_a_candidate() -> None:
    """Even if those that share words with the query are wrong here."""
    cosines, shares = np.array([0.9, 0.5] * 20), np.array([0.1, 0.9] * 20)
    features = features_of(np.full(40, 0.5), cosines, shares)
    gold = np.array([True, False] * 20)
    found = fit_ranking([SearchExamples(features, gold, gold, np.ones(40, dtype=bool))])
    weights = dict(zip(FEATURES, found, strict=True))
    assert weights["cosine"] > 0
    assert weights["bm25"] == 0


# Candidates


def test_terms() -> None:
    terms = terms_of("花呗ＡＢＣ 3天, Don't カ😀")
    assert terms == ["花", "呗", "abc", "3", "天", "don", "t", "カ"]
    assert terms_of("人々〆〇Straße") == ["人", "々", "〆", "〇", "strasse"]
    assert terms_of("iPhone15Pro Ａ4") == ["iphone", "15", "pro", "a", "4"]
    assert terms_of("snake_case__1") == ["snake", "case", "1"]
    assert terms_of("？！😀") == terms_of("") == [""]


def test_of_equal_candidates_the_first_count() -> None:
    found = best_of(np.array([1.0, 0.5] * 40, dtype=np.float32), 60)
    assert found.tolist() == [*range(0, 80, 2), *range(1, 40, 2)]


def test_each_kind_of_score_chooses_half(pipe: PairClassifier) -> None:
    index, query = pipe.index(TEXTS), "几天到"
    direction = QueryText.of(pipe.model, pipe.spans_of([query])[0]).direction
    candidates = index.contents.candidates
    scores = candidates.scores(terms_of(query))
    (first,), far = best_of(scores, 1).tolist(), int(np.flatnonzero(scores == 0)[-1])
    directions = np.tile(-direction, (len(TEXTS), 1)).astype(np.float16)
    directions[far] = direction
    encoded = replace(index.contents.encoded, directions=directions)
    index.contents = replace(index.contents, encoded=encoded)
    assert [match.text for match in index.search(query, 1, candidates=1)] == [TEXTS[first]]

    def found(feature: str) -> dict[str, float]:
        index.ranking = [float(name == feature) for name in FEATURES]
        return {each.text: each.similarity for each in index.search(query, 2, candidates=2)}

    by_cosine = {TEXTS[far]: 1 / (1 + np.exp(-1)), TEXTS[first]: 1 / (1 + np.exp(1))}
    assert found("cosine") == pytest.approx(by_cosine, abs=1e-3)
    share = scores[first] / candidates.most(terms_of(query))
    by_bm25 = {TEXTS[far]: 0.5, TEXTS[first]: 1 / (1 + np.exp(-share))}
    assert found("bm25") == pytest.approx(by_bm25, abs=1e-6)


def test_directions_stay_with_their_texts(pipe: PairClassifier, index: TextIndex) -> None:
    index.add(["怎么办卡"])
    index.remove([0, 2])
    fresh = pipe.index(index.texts).contents.encoded.directions
    assert index.contents.encoded.directions == pytest.approx(fresh, abs=1e-3)


@pytest.mark.parametrize("hash_unknowns", [True, False])
def test_unknown_words_count_as_their_characters(hash_unknowns: bool) -> None:
    nlp = blank()
    pipe = add_re2(nlp, text={"inputs": "tokens", "variant": {"hash_unknowns": hash_unknowns}})
    examples = examples_of(nlp, [("发票？，", "开发票", "same"), ("发", "票", "different")])
    nlp.initialize(lambda: examples)

    def direction(*words: str) -> Any:
        doc = Doc(nlp.vocab, words=list(words))
        return QueryText.of(pipe.model, doc[:]).direction

    apart = direction("发", "票")
    assert direction("发票") == pytest.approx(apart, abs=1e-6)
    assert direction("發票") == pytest.approx(apart, abs=1e-6)
    assert direction("发票", "？，") == pytest.approx(apart, abs=1e-6)
    assert direction("发，票") == pytest.approx(apart, abs=1e-6)
    assert not direction("？，").any()
    if hash_unknowns:
        assert np.linalg.norm(direction("乌有")) == pytest.approx(1)  # its own vector


def test_spelling_keeps_what_a_tok2vec_says() -> None:
    nlp = blank()
    pipe = add_re2(nlp, text={"inputs": "tokens"}, tok2vec=HASH_EMBED)
    examples = examples_of(nlp, [("退 款", "退", "same"), ("退", "款", "different")])
    nlp.initialize(lambda: examples)
    found = QueryText.of(pipe.model, Doc(nlp.vocab, words=["退款"])[:]).direction
    assert np.abs(found[16:]).sum() > 0  # embed_width is 16


def test_examples_of_a_search(index: TextIndex) -> None:
    one = SearchExamples.of(index, {TEXTS[0]: {TEXTS[1]}}, 1)
    assert len(one.gold) == len(TEXTS) - 1  # without itself
    assert one.gold.sum() == 1
    other = SearchExamples.of(index, {"几天到": {TEXTS[3]}}, 1)
    joined = SearchExamples(*(np.concatenate(parts) for parts in zip(one, other, strict=True)))
    assert fit_ranking([one, other]) == pytest.approx(fit_ranking([joined]), abs=0.2)
    found = dict(zip(FEATURES, fit_ranking([one, other], ["cosine", "one"]), strict=True))
    assert found["network"] == found["bm25"] == 0
    assert found["cosine"]
    assert found["one"]


def test_default_weights() -> None:
    """They find more in the demo's FAQ than BM25 does, with word2vec's vectors."""
    pipe = made(1, search_weights=None)
    assert pipe.ranking == DEFAULT
    same, other = probabilities(np.array([[2, 0.9, 1, 1], [-2, 0.3, 0.1, 1]]), DEFAULT)
    assert same > 0.5 > other


# Saving


def test_saved_and_loaded(
    trained: Callable[[], Language], index: TextIndex, tmp_path: Path
) -> None:
    index.save(tmp_path / "faq")
    found = re2(trained()).load_index(tmp_path / "faq")
    assert found.texts == TEXTS
    for query in QUERIES:
        assert found.search(query) == index.search(query)


def test_other_weights(pipe: PairClassifier, index: TextIndex, tmp_path: Path) -> None:
    index.save(tmp_path)
    train(pipe.nlp, steps=1)
    with pytest.raises(ValueError, match=r"\[F334\].*re2_similarity"):
        pipe.load_index(tmp_path)


def test_weights_that_changed_since(pipe: PairClassifier, index: TextIndex, tmp_path: Path) -> None:
    pipe.nlp.update(examples_of(pipe.nlp), sgd=AdamW(0.01))
    for use in (
        lambda: index.search("怎么退款"),
        lambda: index.add(["另一个问题"]),
        lambda: index.save(tmp_path),
    ):
        with pytest.raises(ValueError, match=r"\[F349\].*re2_similarity"):
            use()


def test_averages_are_other_weights(trained: Callable[[], Language]) -> None:
    nlp = trained()
    optimizer = AdamW(0.01, use_averages=True)
    nlp.update(examples_of(nlp), sgd=optimizer)
    before = re2(nlp).index(TEXTS)
    found = before.search("怎么退款")
    assert optimizer.averages is not None
    with nlp.use_params(optimizer.averages):
        within = re2(nlp).index(TEXTS)
        with pytest.raises(ValueError, match="F349"):
            before.search("怎么退款")
    assert before.search("怎么退款") == found
    with pytest.raises(ValueError, match="F349"):
        within.search("怎么退款")


def test_weights_with_equal_numbers(index: TextIndex) -> None:
    """Another process numbers its networks itself, so an unpickled index compares weights."""
    again = pickle.loads(pickle.dumps(index))
    nlp = again.pipe.nlp
    nlp.update(examples_of(nlp), sgd=AdamW(0.01))
    shim = shim_of(again.pipe.model)
    shim.id, shim._n_changes = index.versions[0]
    with pytest.raises(ValueError, match="F349"):
        again.search("怎么退款")


def test_weights_of_components_before() -> None:
    nlp = blank()
    before = add_re2(nlp, "before")
    add_re2(nlp, tok2vec=LISTENER)
    train(nlp, steps=1)
    index = re2(nlp).index(TEXTS)
    before.update(examples_of(nlp), sgd=AdamW(0.01))
    with pytest.raises(ValueError, match="F349"):
        index.search("怎么退款")


def test_weights_that_only_moved(
    trained: Callable[[], Language], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same weights in another network, as after loading a pipeline in place. They are compared
    once."""
    nlp = trained()
    index = re2(nlp).index(TEXTS)
    before = index.search("怎么退款")
    nlp.from_bytes(nlp.to_bytes())
    assert index.search("怎么退款") == before
    monkeypatch.delattr(module, "weights_of")
    assert index.search("怎么退款") == before


def test_other_weights_of_the_tok2vec_below(tmp_path: Path) -> None:
    nlp = made(steps=1, tok2vec=LISTENER).nlp
    index = re2(nlp).index(TEXTS)
    index.save(tmp_path)
    re2(nlp).load_index(tmp_path)
    tok2vec: Any = nlp.get_pipe("tok2vec")
    for node in tok2vec.model.walk():
        for name in node.param_names:
            node.set_param(name, node.get_param(name) + 1)
    with pytest.raises(ValueError, match=r"\[F334\]"):
        re2(nlp).load_index(tmp_path)
    with pytest.raises(ValueError, match=r"\[F349\]"):
        index.save(tmp_path)


def test_checksum_of_vectors_and_vocabulary() -> None:
    """Vectors matter where there is a tok2vec."""
    plain, below = made(1), made(1, tok2vec=HASH_EMBED)
    before = [weights_of(pipe) for pipe in (plain, below)]
    for pipe in (plain, below):
        pipe.nlp.vocab.set_vector("退款", np.ones(4))
    assert weights_of(plain) == before[0]
    assert weights_of(below) != before[1]
    encoder = plain.model.attrs["featuriser"]
    chars = replace(encoder.chars, ids=encoder.chars.ids[::-1].copy())
    plain.model.attrs["featuriser"] = replace(encoder, chars=chars)
    assert weights_of(plain) != before[0]


def test_settings_may_change(pipe: PairClassifier, index: TextIndex, tmp_path: Path) -> None:
    """They count in the search alone."""
    index.save(tmp_path)
    pipe.temperature = 2.0
    assert_like_pairs(pipe, TEXTS, "退款", pipe.load_index(tmp_path).search("退款", top_k=100))


def flipped(data: bytes, place: float) -> bytes:
    at = int(place * len(data))
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


WEIGHTS = '{"format": 5, "weights": 5, "checksum": 0}'
OTHERS = [None, {"other": "{}"}, {HEADER: "[]"}, {HEADER: "{}"}, {HEADER: "x"}, {HEADER: WEIGHTS}]


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        *((partial(flipped, place=place), r"\[F33[234]\]") for place in (0.0, 0.05, 0.95)),
        *((lambda data, end=end: data[:end], r"\[F332\]") for end in (0, 300, -1)),
        (lambda data: data.replace(b'"texts"', b'"textz"'), r"\[F332\]"),
        (lambda data: data.replace(rb"format\": 5", rb"format\": 9"), r"\[F333\].*9"),
        *(
            (lambda _, head=head: save({"texts": np.zeros(3)}, head), r"\[F332\]")
            for head in OTHERS
        ),
    ],
)
def test_damaged_files(
    pipe: PairClassifier,
    index: TextIndex,
    tmp_path: Path,
    damage: Callable[[bytes], bytes],
    code: str,
) -> None:
    index.save(tmp_path)
    (tmp_path / FILE).write_bytes(damage((tmp_path / FILE).read_bytes()))
    with pytest.raises(ValueError, match=code):
        pipe.load_index(tmp_path)


def test_a_save_that_fails_leaves_the_old_index(
    pipe: PairClassifier, index: TextIndex, tmp_path: Path, monkeypatch: Any
) -> None:
    index.save(tmp_path)

    def write(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[:100])
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(OSError, match="No space"):
        pipe.index(["another"]).save(tmp_path)
    assert pipe.load_index(tmp_path).texts == TEXTS
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


# Bad input


def test_errors(pipe: PairClassifier, index: TextIndex, tmp_path: Path) -> None:
    assert len(index) == len(TEXTS)
    assert repr(index) == f"<TextIndex of {len(TEXTS)} questions>"
    calls: list[tuple[str, type[Exception], Callable[[], object]]] = [
        ("F330", ValueError, lambda: pipe.index([])),
        ("F330", ValueError, lambda: pipe.index(["a", []])),
        ("F330", ValueError, lambda: index.add([[]])),
        ("F028.*NoneType", TypeError, lambda: pipe.index(["a"], [None])),  # type: ignore[list-item]
        ("F028.*Doc", TypeError, lambda: index.add(["a"], [pipe.nlp.make_doc("b")])),  # type: ignore[list-item]
        ("F351", KeyError, lambda: index.remove([True])),
        ("F351", KeyError, lambda: index.remove([[1]])),  # type: ignore[list-item]
        ("E978", TypeError, lambda: pipe.fit_search([pipe.nlp.make_doc("a")])),  # type: ignore[list-item]
        ("F026", TypeError, lambda: pipe.index("怎么退款")),
        ("F026", TypeError, lambda: pipe.index(pipe.nlp.make_doc("怎么退款"))),
        ("F026.*got {", TypeError, lambda: pipe.index({"怎么退款": "三天内"})),
        ("F026.*got 3", TypeError, lambda: index.add(3)),  # type: ignore[arg-type]
        ("F026", TypeError, lambda: index.add(["a"], 3)),  # type: ignore[arg-type]
        ("F026.*got 4", TypeError, lambda: index.remove(4)),  # type: ignore[arg-type]
        ("F311.*question number 1", TypeError, lambda: pipe.index(["a", [["b"]]])),  # type: ignore[list-item]
        ("F311", TypeError, lambda: index.search(None)),  # type: ignore[arg-type]
        ("F341", ValueError, lambda: index.search("a", top_k=0)),
        ("F341", ValueError, lambda: index.search("a", top_k=1.5)),  # type: ignore[arg-type]
        ("F341", ValueError, lambda: index.search("a", candidates=0)),
        ("F341.*from 0 to 1", ValueError, lambda: index.search("a", min_similarity=3)),
        ("F341", ValueError, lambda: index.search("a", min_similarity=-0.1)),
        ("F341.*nan", ValueError, lambda: index.search("a", min_similarity=float("nan"))),
        ("F341", ValueError, lambda: index.search("a", min_similarity="1")),  # type: ignore[arg-type]
        ("F331", FileNotFoundError, lambda: pipe.load_index(tmp_path)),
        ("F303", ValueError, lambda: made().index(["a"])),
        ("F303", ValueError, lambda: made().load_index(tmp_path)),
    ]
    for code, kind, call in calls:
        with pytest.raises(kind, match=code):
            call()


def test_an_empty_query_finds_nothing(pipe: PairClassifier, index: TextIndex) -> None:
    for query in ("", " \n", "\u3000", Doc(pipe.vocab)):
        assert index.search(query) == []


def test_encodings_out_of_bounds_stay_numbers(pipe: PairClassifier) -> None:
    network = pipe.model.shims[0].module
    with torch.no_grad():
        network.first.encoder.layers[-1][0].bias += 1e5
    assert np.isfinite([match.similarity for match in pipe.index(TEXTS).search("退款")]).all()


def test_an_index_of_a_tok2vec_loads_in_another_process(tmp_path: Path) -> None:
    """Its checksum is of what was learnt, not of what a set looks like."""
    nlp = blank()
    nlp.add_pipe("sentencizer")
    add_re2(nlp, tok2vec=LISTENER)
    train(nlp, steps=1)
    re2(nlp).index(TEXTS).save(tmp_path / "index")
    nlp.to_disk(tmp_path / "nlp")
    code = (
        "import spacy; nlp = spacy.load('nlp');"
        "print(len(nlp.get_pipe('re2_similarity').load_index('index')))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == str(len(TEXTS)), done.stderr


@pytest.mark.parametrize("options", [{"text": {"inputs": "tokens"}}, {"tok2vec": HASH_EMBED}])
def test_an_index_of_tokens_belongs_to_their_tokenizer(
    options: dict[str, Any], tmp_path: Path
) -> None:
    nlp = made(1, **options).nlp
    re2(nlp).index(TEXTS).save(tmp_path / "index")
    config = nlp.config.copy()
    config["nlp"]["tokenizer"]["segmenter"] = "jieba"
    other = spacy.util.load_model_from_config(config).from_bytes(
        nlp.to_bytes(exclude=["tokenizer"]), exclude=["tokenizer"]
    )
    with pytest.raises(ValueError, match="F334"):
        re2(other).load_index(tmp_path / "index")
