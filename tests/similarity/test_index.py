"""An index of texts that stay: what is found is what comparing each pair would say."""

import copy
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from ner.conftest import HASH_EMBED, LISTENER
from spacy.language import Language
from spacy.tokens import Doc

from spacy_flat.similarity import index as module
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.index import FILE, Match, TextIndex
from spacy_flat.similarity.model import encode
from spacy_flat.similarity.ranking import Candidates, best_by_turns, terms_of

from .conftest import PAIRS, add_re2, blank, example, examples_of, re2, train

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
def pipe(trained_pairs: Language) -> PairClassifier:
    return re2(copy.deepcopy(trained_pairs))


@pytest.fixture
def index(pipe: PairClassifier) -> TextIndex:
    return pipe.index(TEXTS)


def assert_right(pipe: PairClassifier, texts: list[str], query: str, found: list[Match]) -> None:
    """All texts were found, with the probability that the component gives the pair, in order."""
    assert sorted(match.number for match in found) == list(range(len(texts)))
    for match in found:
        assert match.text == texts[match.number]
        expected = pipe.similarity(query, match.text)
        assert match.similarity == pytest.approx(expected, abs=TOLERANCE)
    order = [(-match.similarity, match.number) for match in found]
    assert order == sorted(order)


# What is found


@pytest.mark.parametrize(
    ("segmenter", "options"),
    [
        ("char", {}),
        ("jieba", {"text": {"inputs": "tokens"}}),
        ("char", {"tok2vec": HASH_EMBED}),
        ("char", {"tok2vec": LISTENER}),
        ("char", {"tok2vec": LISTENER, "text": {"inputs": "tokens", "embed_width": 0}}),
        ("char", {"network": {"objective": "score"}}),
    ],
    ids=str,
)
def test_what_is_found(segmenter: str, options: dict[str, Any], tmp_path: Path) -> None:
    nlp = blank(segmenter)
    pipe = add_re2(nlp, **options)
    examples = examples_of(nlp)
    if "network" in options:
        for example in examples:
            example.reference.cats = {"score": example.reference.cats["same"]}
    train(nlp, examples, steps=3)
    index = pipe.index(TEXTS)
    for query in QUERIES:
        assert_right(pipe, TEXTS, query, index.search(query, top_k=100))
    index.save(tmp_path)
    assert pipe.load_index(tmp_path).search(QUERIES[0]) == index.search(QUERIES[0])


def test_number_of_matches(index: TextIndex) -> None:
    assert len(index.search("退款")) == 5
    assert index.search("退款", top_k=2) == index.search("退款", top_k=4)[:2]
    found = index.search("退款", top_k=100, candidates=1)
    assert len(found) == len(TEXTS)
    least = np.float32(found[3].similarity)
    assert index.search("退款", top_k=100, min_similarity=least) == found[:4]


def test_many_texts_in_several_batches(
    trained_pairs: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text * n for n in (1, 5, 2) for text in TEXTS]
    pipe = made(text={"batch_size": 50})
    pipe.nlp.from_bytes(trained_pairs.to_bytes())
    monkeypatch.setattr(module, "CHARACTERS", 20)
    assert_right(pipe, texts, "怎么退款", pipe.index(texts).search("怎么退款", top_k=100))


ODD = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(str.strip), min_size=1
)


@settings(max_examples=15)
@given(texts=ODD, query=st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_odd_texts(texts: list[str], query: str) -> None:
    pipe = shared_pipe()
    found = pipe.index(texts).search(query, top_k=len(texts))
    if query.strip():
        assert_right(pipe, texts, query, found)
    else:
        assert found == []


@cache
def shared_pipe() -> PairClassifier:
    return made(5)


# Questions


def test_phrasings_and_answers(pipe: PairClassifier, tmp_path: Path) -> None:
    index = pipe.index([["如何退款", "怎么退款"], "快递多少钱"], ["三天内", ""])
    assert len(index) == 2
    found = index.search("怎么退款？", candidates=1)
    assert [match.number for match in found] == [0, 1]
    assert found[0] == Match(0, "怎么退款", 1.0, "三天内")
    index.save(tmp_path)
    loaded = pipe.load_index(tmp_path)
    expected = [(["如何退款", "怎么退款"], "三天内"), (["快递多少钱"], "")]
    assert loaded.questions == index.questions == expected
    assert loaded.search("快递") == index.search("快递")
    both = pipe.index(["怎么退款", ["退货", "怎么退款"]]).search("怎么退款")
    assert [match[:3] for match in both] == [(0, "怎么退款", 1.0), (1, "怎么退款", 1.0)]


def test_equal_texts_come_first(pipe: PairClassifier) -> None:
    index = pipe.index(["可以退货吗", "怎么退款", "如何退款"])
    for query in ("如何退款", " 如何 退款？", "如何退款。"):
        assert index.search(query)[0] == Match(2, "如何退款", 1.0)
        assert pipe.similarity(query, "如何退款") == 1.0
    pipe.temperature = 0.05  # the network is sure of the others, too
    assert pipe.index(["可以退货吗", "怎么退款", "如何退款"]).search("如何退款")[0].number == 2
    # Also one that isn't among the candidates.
    found = pipe.index(["如何退款", "如何退款" * 3]).search("如何退款。", top_k=1, candidates=1)
    assert found == [Match(0, "如何退款", 1.0)]


def test_the_least_similarity(pipe: PairClassifier, index: TextIndex) -> None:
    every = index.search("几天到", top_k=100)
    pipe.min_similarity = every[1].similarity
    assert index.search("几天到", top_k=100) == every[:2]
    assert index.search("几天到", top_k=100, min_similarity=0) == every
    pipe.min_similarity = 1
    assert index.search("几天到") == []


def test_calibration_counts_in_the_search(pipe: PairClassifier, index: TextIndex) -> None:
    pipe.temperature, pipe.cosine, pipe.bias = 2.0, 3.0, -1.5
    assert_right(pipe, TEXTS, "几天到", index.search("几天到", top_k=100))
    for query in TEXTS[3:6]:
        for match in index.search(query + "吗", candidates=1):
            expected = pipe.similarity(query + "吗", match.text)
            assert match.similarity == pytest.approx(expected, abs=TOLERANCE)
    pipe.positive_label = "different"
    assert_right(pipe, TEXTS, "几天到", index.search("几天到", top_k=100))


def test_scores_below_zero_are_found() -> None:
    nlp = blank()
    pipe = add_re2(nlp, network={"objective": "score"})
    pairs = [(left, right, {"score": -2.0 - (kind == "same")}) for left, right, kind in PAIRS]
    train(nlp, [example(nlp, *pair) for pair in pairs], steps=30)
    assert len(pipe.index(TEXTS).search("退款", top_k=100)) == len(TEXTS)


def test_equal_texts_are_compared_if_told(trained_pairs: Language) -> None:
    pipe = made(text={"equal": False})
    pipe.nlp.from_bytes(trained_pairs.to_bytes())
    (match,) = pipe.index(["如何退款"]).search("如何退款。")
    assert match.similarity == pytest.approx(pipe.similarity("如何退款", "如何退款。"), abs=1e-3)
    assert match.similarity < 1


def test_the_index_is_loaded_in_half_precision(
    index: TextIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert index._encoded.units.dtype == np.float16
    index.save(tmp_path)
    monkeypatch.delattr(module, "encode")
    assert len(index.pipe.load_index(tmp_path)) == len(index)


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


def test_of_phrasings_that_are_equally_alike_the_first_is_found(pipe: PairClassifier) -> None:
    (match,) = pipe.index([["龘", "龘 ", "龘\n"]]).search("齉")
    assert match.text == "龘"


def test_both_kinds_of_scores_choose_candidates() -> None:
    one, other = np.array([3, 2, 2, 0], np.float32), np.array([0, 1, 2, 3], np.float32)
    found = [best_by_turns(one, other, n).tolist() for n in (1, 2, 3, 9)]
    assert found == [[0], [0, 3], [0, 3, 1], [0, 3, 1, 2]]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("花呗ＡＢＣ 3天, Don't カ😀", ["花", "呗", "abc", "3", "天", "don", "t", "カ"]),
        ("人々〆〇Straße", ["人", "々", "〆", "〇", "strasse"]),
        ("iPhone15Pro snake_case__1", ["iphone", "15", "pro", "snake", "case", "1"]),
        ("？！😀", [""]),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


def test_unknown_words_count_as_their_characters() -> None:
    nlp = blank()
    pipe = add_re2(nlp, text={"inputs": "tokens"})
    examples = examples_of(nlp, [("发票？，", "开发票", "same"), ("发", "票", "different")])
    nlp.initialize(lambda: examples)

    def direction(*words: str) -> Any:
        doc = Doc(nlp.vocab, words=list(words))
        return encode(pipe.model, pipe.read([(doc, doc)])).vectors[0]

    apart = direction("发", "票")
    for words in (["发票"], ["發票"], ["发票", "？，"], ["发，票"]):
        assert direction(*words) == pytest.approx(apart, abs=1e-6)
    assert not direction("？，").any()
    assert np.linalg.norm(direction("乌有")) == pytest.approx(1)  # its own vector


# Saving


def test_other_weights(
    pipe: PairClassifier, index: TextIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.save(tmp_path)
    monkeypatch.setattr(Path, "write_bytes", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        index.save(tmp_path)  # a save that fails leaves the older one
    pipe.load_index(tmp_path)
    train(pipe.nlp, steps=1)
    with pytest.raises(ValueError, match=r"\[F334\].*re2_similarity"):
        pipe.load_index(tmp_path)


def test_other_weights_of_the_tok2vec_below(tmp_path: Path) -> None:
    nlp = made(steps=1, tok2vec=LISTENER).nlp
    re2(nlp).index(TEXTS).save(tmp_path)
    re2(nlp).load_index(tmp_path)
    tok2vec: Any = nlp.get_pipe("tok2vec")
    for node in tok2vec.model.walk():
        for name in node.param_names:
            node.set_param(name, node.get_param(name) + 1)
    with pytest.raises(ValueError, match=r"\[F334\]"):
        re2(nlp).load_index(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-9] + b"x" * 9,
        lambda data: data[:300],
        lambda data: data.replace(b"index.v10", b"index.v9"),
    ],
)
def test_damaged_and_old_files(
    index: TextIndex, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    index.save(tmp_path)
    (tmp_path / FILE).write_bytes(damage((tmp_path / FILE).read_bytes()))
    with pytest.raises(ValueError, match=r"\[F332\]"):
        index.pipe.load_index(tmp_path)


def test_an_index_of_tokens_belongs_to_their_tokenizer(tmp_path: Path) -> None:
    nlp = made(1, text={"inputs": "tokens"}).nlp
    re2(nlp).index(TEXTS).save(tmp_path / "index")
    config = nlp.config.copy()
    config["nlp"]["tokenizer"]["segmenter"] = "jieba"
    other = spacy.util.load_model_from_config(config).from_bytes(
        nlp.to_bytes(exclude=["tokenizer"]), exclude=["tokenizer"]
    )
    with pytest.raises(ValueError, match="F334"):
        re2(other).load_index(tmp_path / "index")


# Bad input


def test_errors(pipe: PairClassifier, index: TextIndex, tmp_path: Path) -> None:
    calls: list[tuple[str, type[Exception], Callable[[], object]]] = [
        ("F330", ValueError, lambda: pipe.index([])),
        ("F026", TypeError, lambda: pipe.index(None)),  # type: ignore[arg-type]
        ("F028.*NoneType", TypeError, lambda: pipe.index(["a", None])),  # type: ignore[list-item]
        ("F330", ValueError, lambda: pipe.index(["a", []])),
        ("F330.*number 1", ValueError, lambda: pipe.index(["a", ["b", " "]])),
        ("F335.*1 .* 2 answers", ValueError, lambda: pipe.index(["如何退款"], ["三天内", ""])),
        ("F028.*NoneType", TypeError, lambda: pipe.index(["a"], [None])),  # type: ignore[list-item]
        ("F028.*list", TypeError, lambda: pipe.index(["a", [["b"]]])),  # type: ignore[list-item]
        ("F026", TypeError, lambda: pipe.index("怎么退款")),
        ("F026", TypeError, lambda: pipe.index(["怎么退款", "退货"], "好的")),
        ("F026.*got {", TypeError, lambda: pipe.index({"怎么退款": "三天内"})),
        ("F028", TypeError, lambda: index.search(None)),  # type: ignore[arg-type]
        ("F341", ValueError, lambda: index.search("a", top_k=0)),
        ("F341.*from 0 to 1", ValueError, lambda: index.search("a", min_similarity=3)),
        ("F331", FileNotFoundError, lambda: pipe.load_index(tmp_path)),
        ("F303", ValueError, lambda: made().index(["a"])),
    ]
    for code, kind, call in calls:
        with pytest.raises(kind, match=code):
            call()
