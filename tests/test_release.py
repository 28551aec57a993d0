"""The released pipelines, as a user installs them: what they find on texts that nobody tuned on,
and that they can be trained further."""

import importlib
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from spacy_flat.similarity.pairs import join_pair

ROOT = Path(__file__).parents[1]
WHEELS = {path.name.split("-")[0]: path for path in (ROOT / "assets/pipelines").glob("*.whl")}
MAX_SIZE = 30_000_000  # bytes
# What the labels of zh_flat_general are to MSRA.
COARSE = {"GPE": "LOC", "SCENE": "LOC", "COMPANY": "ORG", "GOVERNMENT": "ORG"} | dict.fromkeys(
    ("TITLE", "BOOK", "GAME", "MOVIE"), ""
)
NER = ("zh_flat_general", "zh_flat_general_trf", "zh_flat_msra", "zh_flat_open")

Load = Callable[[str], Any]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    """`spacy.load` of a released pipeline, once each. What a test changes it changes back."""
    site = tmp_path_factory.mktemp("site")

    @cache
    def loaded(name: str) -> Language:
        if name.endswith("trf"):
            pytest.importorskip("spacy_transformers", reason="spacy-transformers is missing")
        zipfile.ZipFile(WHEELS[name]).extractall(site)
        importlib.invalidate_caches()
        return spacy.load(name)

    sys.path.insert(0, str(site))
    yield loaded
    sys.path.remove(str(site))
    for name in WHEELS:
        sys.modules.pop(name, None)


def records(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / path).read_text("utf-8").splitlines()]


def gold_of(nlp: Language, record: dict[str, Any]) -> Doc:
    doc = nlp.make_doc(record["text"])
    spans = (
        doc.char_span(start, last + 1, label=label)
        for label, surfaces in record["label"].items()
        for places in surfaces.values()
        for start, last in places
    )
    doc.set_ents([span for span in spans if span is not None])
    return doc


def f1(nlp: Language, texts: list[dict[str, Any]]) -> float:
    examples = [Example(nlp.make_doc(text["text"]), gold_of(nlp, text)) for text in texts]
    return float(nlp.evaluate(examples)["ents_f"])


@pytest.mark.parametrize("name", WHEELS)
def test_it_is_small_and_its_config_still_valid(name: str, load: Load) -> None:
    assert WHEELS[name].stat().st_size <= MAX_SIZE
    config = load(name).config.interpolate()
    for corpus in config["corpora"].values():
        if corpus["@readers"] == "spacy.Corpus.v1":
            corpus.setdefault("gold_preproc", False)  # which `spacy assemble` doesn't need
    registry.fill(config, validate=True)


@pytest.mark.parametrize(
    "name", ["zh_flat_general_trf", "zh_re2_questions_trf", "en_tener_wikiann"]
)
def test_docs_have_vectors(name: str, load: Load) -> None:
    assert load(name)("王芳").vector.size == 0


# Entities


@pytest.mark.parametrize("name", NER)
def test_what_it_finds(name: str, load: Load) -> None:
    nlp = load(name)
    pipe = nlp.get_pipe("flat_ner")
    if name != "zh_flat_msra":
        pipe.label_map = {fine: kind for fine, kind in COARSE.items() if fine in pipe.labels}
    try:
        assert f1(nlp, records("assets/release/msra.jsonl")) >= 0.93
    finally:
        pipe.label_map = None


@pytest.mark.parametrize(
    ("name", "label"), [("zh_flat_general", "COMPANY"), ("zh_flat_msra", "ORG")]
)
def test_added_words_are_found(name: str, label: str, load: Load) -> None:
    nlp = load(name)
    with nlp.get_pipe("flat_ner").with_words([("人和药店", label)]):
        found = [(ent.text, ent.label_) for ent in nlp("人和药店在重庆开业").ents]
    assert ("人和药店", label) in found


def test_english_names(load: Load) -> None:
    nlp = load("en_tener_wikiann")
    texts = [
        text
        for text in records("assets/kinds_en/kinds.jsonl")
        if text["kind"] in ("news", "encyclopaedia")
    ]
    assert f1(nlp, texts) > 0.7
    first, *_ = nlp("emma watson flew from london to new york.").ents
    assert (first.text, first.label_) == ("emma watson", "PER")
    # Sentences without names, which WikiANN hardly has
    plain = ("Can I have the bill, please?", "The meeting begins at nine.", "How are you")
    assert not any(doc.ents for doc in nlp.pipe(plain))


# Questions, on the FAQ of the demo corpus


@pytest.mark.parametrize(
    ("name", "found", "answered"),
    [("zh_re2_questions", 0.88, 0.66), ("zh_re2_questions_trf", 0.93, 0.86)],
)
def test_questions_are_found(load: Load, name: str, found: float, answered: float) -> None:
    questions, queries = (
        [line.split("\t") for line in (ROOT / path).read_text("utf-8").splitlines()]
        for path in ("assets/demo_pairs/faq.tsv", "assets/demo_pairs/queries.tsv")
    )
    pipe = load(name).get_pipe("re2_similarity")
    index = pipe.index([question for question, _ in questions])
    first = [(asked, index.search(query, 1, min_similarity=0)[0]) for query, asked in queries]
    right = [match.similarity for asked, match in first if match.text == asked]
    n_answered = sum(bool(asked) for _, asked in queries)
    assert len(right) >= found * n_answered
    assert sum(each >= pipe.min_similarity for each in right) >= answered * n_answered
    false = [match.similarity >= pipe.min_similarity for asked, match in first if not asked]
    assert sum(false) <= 0.14 * len(false)
    assert index.search("今天天气怎么样") == []
    same, other = (pipe.similarity("怎么退款", text) for text in ("如何退款", "怎么付款"))
    assert same > pipe.threshold > other


# Translations


def test_translations_and_their_entities(load: Load) -> None:
    texts = {"你會說法語嗎？": "French", "汤姆喜欢音乐。": "music", "他住在巴黎。": "He lives in"}
    for doc, words in zip(load("zh_seq2seq_tatoeba").pipe(texts), texts.values(), strict=True):
        assert words in doc._.translation
    nlp = load("zh_flat_msra")
    nlp.add_pipe("seq2seq_translator", source=load("zh_seq2seq_tatoeba"))
    doc = nlp("汤姆住在波士顿。")
    nlp.remove_pipe("seq2seq_translator")
    found = {(ent.text, ent.source) for ent in doc._.translation_ents}
    assert found == {("Tom", (0, 2)), ("Boston", (4, 7))}


# Characters

VERSES = ["床前明月光，疑是地上霜。", "白日依山尽，黄河入海流。", "春眠不觉晓，处处闻啼鸟。"]


def test_verses_are_probable_and_their_errors_are_suspicious(load: Load) -> None:
    nlp = load("zh_char_tang")
    nlp = spacy.load("zh_char_tang", config={"components.char_generator.suspicion": 8.0})
    verses = list(nlp.pipe(VERSES))
    assert [doc._.suspicious for doc in verses] == [[]] * len(VERSES)
    for text, verse in zip(VERSES, verses, strict=True):
        swapped = text[:2] + text[3] + text[2] + text[4:]
        assert verse._.perplexity < nlp(swapped)._.perplexity
    (error,) = nlp("举头望明约，低头思故乡。")._.suspicious
    assert error[:3] == (4, "约", "月")


def test_homophones_typed_by_mistake_are_suspicious(load: Load) -> None:
    nlp = load("zh_char_news")
    lines = (ROOT / "assets/release/typos.tsv").read_text("utf-8").splitlines()[::3]
    wrong, true = zip(*(line.split("\t") for line in lines), strict=True)
    found = alarms = 0
    for text, doc in zip(true, nlp.pipe(wrong), strict=True):
        mended = [each for each in doc._.suspicious if text[each.start] == each.expected]
        found += len(mended)
        alarms += len(doc._.suspicious) - len(mended)
    alarms += sum(len(doc._.suspicious) for doc in nlp.pipe(true))
    assert found >= 11  # of 20
    assert alarms <= 1


# All of them

MORE: dict[str, tuple[str, dict[str, Any]]] = {  # a text for each, and what is known of it
    "zh_flat_general": ("感冒灵在重庆卖完了", {"ents": [(0, 3, "COMPANY")]}),
    "en_tener_wikiann": ("aspirin is sold out", {"ents": [(0, 7, "ORG")]}),
    "zh_re2_questions": (join_pair("能退吗？", "在哪里退款"), {"cats": {"same": 1.0}}),
    "zh_char_tang": ("今天感冒灵卖完了。", {}),
    "zh_seq2seq_tatoeba": ("感冒灵卖完了。", {"translation": "The pills are gone."}),
}


@pytest.mark.parametrize("name", MORE)
def test_a_plain_loop_goes_on(name: str, load: Load) -> None:
    """With the optimizer of the pipeline's own config."""
    load(name)
    nlp = spacy.load(name)
    text, known = MORE[name]
    reference = nlp.make_doc(text)
    reference.ents = [reference.char_span(*span) for span in known.get("ents", ())]
    reference.cats = known.get("cats", {})
    if "translation" in known:
        reference._.translation = known["translation"]
    examples = [Example(nlp.make_doc(text), reference)] * 4
    optimizer = nlp.resume_training()
    losses = [sum(nlp.update(examples, sgd=optimizer, losses={}).values()) for _ in range(12)]
    assert losses[-1] < 0.8 * losses[0]
