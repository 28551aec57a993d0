"""An index of texts that stay: what is found is what comparing each pair would say."""

import copy
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from ner.conftest import HASH_EMBED, LISTENER
from safetensors.numpy import save
from spacy.language import Language
from spacy.tokens import Doc

from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity import index as module
from spacy_flat.similarity.candidates import Candidates, best_by_turns, terms_of
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.encoded import EncodedTexts
from spacy_flat.similarity.index import (
    FILE,
    Match,
    TextIndex,
)
from spacy_flat.similarity.model import sentence_vectors
from spacy_flat.similarity.ranking import (
    FEATURES,
    SearchedQuery,
    features_of,
    fit_ranking,
    probabilities,
)

from .conftest import NETWORK_ONLY, PAIRS, add_re2, blank, examples_of, re2, train

TEXTS = list(dict.fromkeys(text for pair in PAIRS for text in pair[:2] if text))
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
        ("jieba", {"text": {"inputs": "tokens"}, "network": {"prediction": "full"}}),
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
    with pytest.raises(ValueError, match=r"F341.*a number"):
        index.search("怎么退款", min_similarity=float("nan"))


def test_number_of_matches(index: TextIndex) -> None:
    assert len(index.search("退款")) == 5
    assert len(index.search("退款", top_k=2)) == 2
    assert index.search("退款", top_k=2) == index.search("退款", top_k=4)[:2]
    assert len(index.search("退款", top_k=8, candidates=1)) == 8
    assert len(index.search("退款", top_k=100, candidates=1)) == len(TEXTS)


def test_many_texts_in_several_batches(
    trained: Callable[[], Language], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text * n for n in (1, 5, 2) for text in TEXTS]
    pipe = made(text={"batch_size": 50})
    pipe.nlp.from_bytes(trained().to_bytes())
    monkeypatch.setattr("spacy_flat.similarity.index.CHARACTERS", 20)
    assert_like_pairs(pipe, texts, "怎么退款", pipe.index(texts).search("怎么退款", top_k=100))


def test_copies_change_apart(index: TextIndex) -> None:
    before = len(index)
    for other in (copy.copy(index), copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        other.add(["另一个问题"])
        assert (len(other), len(index)) == (before + 1, before)


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


ODD = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(str.strip), min_size=1
)


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
    index.save(tmp_path)
    assert pipe.load_index(tmp_path).add(["怎么办卡"]) == [n + 2]  # numbers don't return
    expected = pipe.index(TEXTS[1:]).search("退款", top_k=100)
    found = index.search("退款", top_k=100)
    assert [match[1:] for match in found] == [match[1:] for match in expected]
    with pytest.raises(KeyError, match=r"F351.*0"):
        index.remove([0])
    with pytest.raises(ValueError, match="F330"):
        index.remove(range(1, n))


def test_equal_texts_come_first(pipe: PairClassifier) -> None:
    index = pipe.index(["可以退货吗", "怎么退款", "如何退款"])
    for query in ("如何退款", " 如何 退款？", "如何退款。"):
        assert index.search(query)[0] == Match(2, "如何退款", 1.0)
        assert pipe.similarity(query, "如何退款") == 1.0
    # Also one that isn't among the candidates.
    found = pipe.index(["如何退款", "如何退款" * 3]).search("如何退款。", top_k=1, candidates=1)
    assert found == [Match(0, "如何退款", 1.0)]


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


def test_a_network_without_weight_is_not_asked(
    pipe: PairClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe.search_weights = [0.0, 5.0, 5.0, -8.0]
    index = pipe.index(TEXTS)
    places, features = index._compared(index.contents, "几天到", 100, True)
    texts = [index.contents.texts[place] for place in places]
    expected = dict(zip(texts, probabilities(features, pipe.ranking), strict=True))
    monkeypatch.setattr(EncodedTexts, "pairs_of_first", None)
    for match in index.search("几天到", top_k=100):
        assert match.similarity == pytest.approx(expected[match.text])


def test_the_fitted_probability_is_that_of_the_first_being_right() -> None:
    """Half of the queries whose best cosine is 0.6 are right, all with 0.9, none with 0.2."""
    best = np.array([0.9, 0.6, 0.6, 0.2] * 50)
    is_right = np.array([True, True, False, False] * 50)
    cosines = np.stack([best, best - 0.3], axis=1).ravel()
    features = features_of(np.full(400, 0.5), cosines, np.zeros(400)).reshape(200, 2, -1)
    queries = [
        SearchedQuery(own, np.array([right, False]), bool(right))
        for own, right in zip(features, is_right, strict=True)
    ]
    weights = fit_ranking([queries])
    found = probabilities(
        features_of(np.full(3, 0.5), np.array([0.9, 0.6, 0.2]), np.zeros(3)), weights
    )
    assert found[0] > 0.9
    assert found[1] == pytest.approx(0.5, abs=0.05)
    assert found[2] < 0.1


def test_no_feature_counts_against_a_candidate() -> None:
    """Even if those that share words with the query are wrong here."""
    cosines, shares = np.array([0.9, 0.5] * 20), np.array([0.1, 0.9] * 20)
    features = features_of(np.full(40, 0.5), cosines, shares).reshape(20, 2, -1)
    queries = [SearchedQuery(own, np.array([True, False]), True) for own in features]
    found = fit_ranking([queries])
    weights = dict(zip(FEATURES, found, strict=True))
    assert weights["cosine"] > 0
    assert weights["bm25"] == 0


# Candidates


WORDS = st.lists(st.lists(st.sampled_from("甲乙丙丁戊"), min_size=1, max_size=9), min_size=1)


@given(texts=WORDS, query=st.lists(st.sampled_from("甲乙丙己"), max_size=4))
def test_bm25_as_written_out(texts: list[list[str]], query: list[str]) -> None:
    mean = sum(map(len, texts)) / len(texts)
    weights = {
        term: [
            math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            * own.count(term)
            / (own.count(term) + 1.5 * (0.25 + 0.75 * len(own) / mean))
            for own in texts
        ]
        for term in {term for own in texts for term in own}
        for n in [sum(term in own for own in texts)]
    }
    found = Candidates.of(texts)
    none = [0.0] * len(texts)
    expected = [sum(weights.get(term, none)[i] for term in query) for i in range(len(texts))]
    np.testing.assert_allclose(found.scores(query), expected, rtol=1e-5)
    rare = max(map(max, weights.values()))  # of a term that no text has
    best = sum(max(weights.get(term, [rare])) for term in query)
    assert found.max_score(query) == pytest.approx(best, rel=1e-5)


def test_of_phrasings_that_are_equally_alike_the_first_is_found(pipe: PairClassifier) -> None:
    (match,) = pipe.index([["龘", "龘 ", "龘\n"]]).search("齉")
    assert match.text == "龘"


def test_both_kinds_of_scores_choose_candidates() -> None:
    one, other = np.array([3, 2, 2, 0], np.float32), np.array([0, 1, 2, 3], np.float32)
    found = [best_by_turns(one, other, n).tolist() for n in (1, 2, 3, 9)]
    assert found == [[0], [0, 3], [0, 3, 1], [0, 3, 1, 2]]


def test_terms() -> None:
    terms = terms_of("花呗ＡＢＣ 3天, Don't カ😀")
    assert terms == ["花", "呗", "abc", "3", "天", "don", "t", "カ"]
    assert terms_of("人々〆〇Straße") == ["人", "々", "〆", "〇", "strasse"]
    assert terms_of("iPhone15Pro Ａ4") == ["iphone", "15", "pro", "a", "4"]
    assert terms_of("snake_case__1") == ["snake", "case", "1"]
    assert terms_of("？！😀") == terms_of("") == [""]


@pytest.mark.parametrize("hash_unknowns", [True, False])
def test_unknown_words_count_as_their_characters(hash_unknowns: bool) -> None:
    nlp = blank()
    pipe = add_re2(nlp, text={"inputs": "tokens", "variant": {"hash_unknowns": hash_unknowns}})
    examples = examples_of(nlp, [("发票？，", "开发票", "same"), ("发", "票", "different")])
    nlp.initialize(lambda: examples)

    def direction(*words: str) -> Any:
        doc = Doc(nlp.vocab, words=list(words))
        return sentence_vectors(pipe.model, pipe.read([(doc, doc)]))[0]

    apart = direction("发", "票")
    assert direction("发票") == pytest.approx(apart, abs=1e-6)
    assert direction("發票") == pytest.approx(apart, abs=1e-6)
    assert direction("发票", "？，") == pytest.approx(apart, abs=1e-6)
    assert direction("发，票") == pytest.approx(apart, abs=1e-6)
    assert not direction("？，").any()
    if hash_unknowns:
        assert np.linalg.norm(direction("乌有")) == pytest.approx(1)  # its own vector


# Saving


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


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda data: data[:-9] + b"x" * 9, r"\[F332\]"),
        (lambda data: data[:300], r"\[F332\]"),
        (lambda data: b"", r"\[F332\]"),
        (lambda data: save({}, {"spacy-flat.index": "{}"}), r"\[F333\]"),  # as version 0.1 did
        (lambda data: data.replace(b"index.v7", b"index.v6"), r"\[F333\]"),
    ],
)
def test_damaged_and_old_files(
    index: TextIndex, tmp_path: Path, damage: Callable[[bytes], bytes], code: str
) -> None:
    index.save(tmp_path)
    (tmp_path / FILE).write_bytes(damage((tmp_path / FILE).read_bytes()))
    with pytest.raises(ValueError, match=code):
        index.pipe.load_index(tmp_path)  # type: ignore[attr-defined]


# Bad input


def test_errors(pipe: PairClassifier, index: TextIndex, tmp_path: Path) -> None:
    assert len(index) == len(TEXTS)
    assert repr(index) == f"<TextIndex of {len(TEXTS)} questions>"
    calls: list[tuple[str, type[Exception], Callable[[], object]]] = [
        ("F330", ValueError, lambda: pipe.index([])),
        ("F330", ValueError, lambda: pipe.index(["a", []])),
        ("F330", ValueError, lambda: index.add([[]])),
        ("F330.*number 1", ValueError, lambda: pipe.index(["a", ["b", " "]])),
        ("F028.*NoneType", TypeError, lambda: pipe.index(["a"], [None])),  # type: ignore[list-item]
        ("F026", TypeError, lambda: pipe.index("怎么退款")),
        ("F026", TypeError, lambda: pipe.index(pipe.nlp.make_doc("怎么退款"))),
        ("F026.*got {", TypeError, lambda: pipe.index({"怎么退款": "三天内"})),
        ("F026.*got 4", TypeError, lambda: index.remove(4)),  # type: ignore[arg-type]
        ("F311.*question number 1", TypeError, lambda: pipe.index(["a", [["b"]]])),  # type: ignore[list-item]
        ("F311", TypeError, lambda: index.search(None)),  # type: ignore[arg-type]
        ("F341", ValueError, lambda: index.search("a", top_k=0)),
        ("F341", ValueError, lambda: index.search("a", top_k=1.5)),  # type: ignore[arg-type]
        ("F341.*from 0 to 1", ValueError, lambda: index.search("a", min_similarity=3)),
        ("F341.*nan", ValueError, lambda: index.search("a", min_similarity=float("nan"))),
        ("F331", FileNotFoundError, lambda: pipe.load_index(tmp_path)),
        ("F303", ValueError, lambda: made().index(["a"])),
    ]
    for code, kind, call in calls:
        with pytest.raises(kind, match=code):
            call()


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
