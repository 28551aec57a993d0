"""The released pipelines of `assets/pipelines`, as a user installs them."""

from __future__ import annotations

import json
import sys
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config

from spacy_flat.similarity.candidates import best_of, terms_of
from spacy_flat.similarity.pairs import join_pair
from spacy_flat.util.simplified import converter

ROOT = Path(__file__).parents[1]
GENERAL = {
    *("PER", "GPE", "LOC", "SCENE", "ORG", "COMPANY", "GOVERNMENT"),
    *("TITLE", "BOOK", "GAME", "MOVIE"),
}
LABELS = {
    "general": GENERAL,
    "general_trf": GENERAL,
    "msra": {"LOC", "ORG", "PER"},
}
# Measured on assets/release, less what a change of rounding may do.
FLOORS = {"general": 0.93, "general_trf": 0.93, "msra": 0.93}
# What its labels are to MSRA.
COARSE = {"GPE": "LOC", "SCENE": "LOC", "COMPANY": "ORG", "GOVERNMENT": "ORG"} | dict.fromkeys(
    ("TITLE", "BOOK", "GAME", "MOVIE"), ""
)
# Of zh_re2_questions: found first, and answered without an answer where nine of ten others are.
TOP_1, FALSE, LEAST = 0.88, 0.14, 0.2
MOST = 30_000_000  # bytes of a wheel


def sentences(corpus: str) -> list[dict[str, Any]]:
    name = "msra" if LABELS[corpus] is GENERAL else corpus
    lines = (ROOT / f"assets/release/{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def spans_of(record: dict[str, Any]) -> list[tuple[int, int, str]]:
    return [
        (start, last + 1, label)
        for label, surfaces in record["label"].items()
        for places in surfaces.values()
        for start, last in places
    ]


@pytest.mark.parametrize("corpus", LABELS)
def test_the_sentences_are_clean(corpus: str) -> None:
    records = sentences(corpus)
    assert len({record["text"] for record in records}) == len(records) == 100
    labels = {label for record in records for label in record["label"]}
    assert labels == LABELS["msra" if LABELS[corpus] is GENERAL else corpus]
    for record in records:
        for label, surfaces in record["label"].items():
            for surface, places in surfaces.items():
                for start, last in places:
                    assert record["text"][start : last + 1] == surface, label
        spans = sorted(spans_of(record))
        assert all(left[1] <= right[0] for left, right in pairwise(spans))


def wheel_of(corpus: str) -> Path:
    version = json.loads((ROOT / f"assets/release/zh_flat_{corpus}.json").read_text("utf-8"))[
        "version"
    ]
    return ROOT / f"assets/pipelines/zh_flat_{corpus}-{version}-py3-none-any.whl"


@pytest.fixture(scope="module", params=LABELS)
def released(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Language]:
    """The corpus's name, and the pipeline as `spacy.load("zh_flat_…")` gives it."""
    site = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel_of(request.param)).extractall(site)
    sys.path.insert(0, str(site))
    try:
        return request.param, spacy.load(f"zh_flat_{request.param}")
    finally:
        sys.path.remove(str(site))


@pytest.mark.parametrize("corpus", LABELS)
def test_a_wheel_is_small(corpus: str) -> None:
    assert wheel_of(corpus).stat().st_size <= MOST


def test_what_it_finds(released: tuple[str, Language]) -> None:
    corpus, nlp = released
    if LABELS[corpus] is GENERAL:
        nlp.get_pipe("flat_ner").label_map = COARSE  # type: ignore[attr-defined]
    examples = []
    for record in sentences(corpus):
        reference: Doc = nlp.make_doc(record["text"])
        spans = (reference.char_span(*span[:2], label=span[2]) for span in spans_of(record))
        reference.set_ents([span for span in spans if span is not None])
        examples.append(Example(nlp.make_doc(record["text"]), reference))
    try:
        assert nlp.evaluate(examples)["ents_f"] >= FLOORS[corpus]
    finally:
        if LABELS[corpus] is GENERAL:
            nlp.get_pipe("flat_ner").label_map = None  # type: ignore[attr-defined]


def test_ordinary_words_are_no_names(released: tuple[str, Language]) -> None:
    """In tables and in mixed English."""
    corpus, nlp = released
    if LABELS[corpus] is not GENERAL:
        pytest.skip("has not learnt them")
    texts = {
        "| 姓名 | 部门 | 电话 |\n|---|---|---|\n| 王小明 | 财务 | 13800 |": ["王小明"],
        "项目\t数量\t备注\n打印纸\t3\t急\n墨盒\t2\t": [],
        "收件人：陈小雨\n备注：放门口": ["陈小雨"],
        "这个feature的deadline是周五，记得先跑unit test": [],
        "这周的budget还没approve，下周再说": [],
    }
    found = [[ent.text for ent in doc.ents] for doc in nlp.pipe(texts)]
    assert sum(map(list.__eq__, found, texts.values())) >= 4


def test_traditional_characters_are_read_as_simplified(released: tuple[str, Language]) -> None:
    corpus, nlp = released
    texts = [record["text"] for record in sentences(corpus)]
    spelled = list(map(converter("s2t").convert, texts))
    found, expected = (
        [[(ent.start, ent.end, ent.label_) for ent in doc.ents] for doc in nlp.pipe(each)]
        for each in (spelled, texts)
    )
    assert sum(map(str.__ne__, spelled, texts)) > 90
    assert sum(one == other for one, other in zip(found, expected, strict=True)) >= 95


def test_what_it_says_of_itself(released: tuple[str, Language]) -> None:
    corpus, nlp = released
    assert nlp.meta["name"] == f"flat_{corpus}"
    assert set(nlp.get_pipe("flat_ner").labels) == LABELS[corpus]  # type: ignore[attr-defined]
    assert 0.7 < nlp.meta["performance"]["ents_f"] < 1
    licences = {source["license"] for source in nlp.meta["sources"]}
    assert {"none stated", "CC BY-SA", "MIT"} <= licences
    assert "Seed" in nlp.meta["notes"]
    # No path of the machine that trained it.
    assert set(nlp.config["paths"].values()) == {None}


@pytest.mark.parametrize("corpus", LABELS)
def test_what_the_next_one_says_of_how_it_was_made(corpus: str) -> None:
    """By a command that makes it: without vectors there is no release."""
    notes = json.loads((ROOT / f"assets/release/zh_flat_{corpus}.json").read_text("utf-8"))["notes"]
    folder, command = "configs", f"python scripts/release.py zh_flat_{corpus} "
    if corpus == "general_trf":
        folder = "configs/further"
    assert f"`{command}" in notes
    assert f"{folder}/zh_flat_{corpus}.cfg" in notes


def test_it_goes_on_with_another_corpus(released: tuple[str, Language], tmp_path: Path) -> None:
    """By the config for that, with a label that is new and a few sentences only."""
    nlp = released[1]
    nlp.to_disk(tmp_path / "released")
    doc = nlp.make_doc("感冒灵在重庆卖完了")
    doc.ents = [doc.char_span(0, 3, "DRUG")]
    DocBin(docs=[doc] * 4).to_disk(tmp_path / "some.spacy")
    some = str(tmp_path / "some.spacy")
    paths = {"pipeline": str(tmp_path / "released"), "train": some, "dev": some}
    overrides = {f"paths.{name}": path for name, path in paths.items()}
    config = load_config(ROOT / "configs/further/zh_flat.cfg", overrides)
    config["nlp"]["pipeline"] = [*nlp.pipe_names]
    for name in nlp.pipe_names:
        config["components"][name] = {"source": paths["pipeline"]}
    trained, _ = train(init_nlp(config))
    labels = trained.get_pipe("flat_ner").labels
    assert labels == (*nlp.get_pipe("flat_ner").labels, "DRUG")  # type: ignore[attr-defined]
    assert [(ent.text, ent.label_) for ent in trained(doc.text).ents] == [("感冒灵", "DRUG")]


def test_added_words_are_found(released: tuple[str, Language]) -> None:
    corpus, nlp = released
    label = "ORG" if corpus == "msra" else "COMPANY"
    lexicon = nlp.get_pipe("flat_ner").lexicon  # type: ignore[attr-defined]
    lexicon.add(["人和药店"], type=label)
    try:
        found = [(ent.text, ent.label_) for ent in nlp("人和药店在重庆开业").ents]
    finally:
        lexicon.remove(["人和药店"])
    assert ("人和药店", label) in found


# zh_re2_questions, on the FAQ of the demo corpus


@pytest.fixture
def faq() -> tuple[list[str], list[list[str]]]:
    """Its questions, and (query, question), without a question for those it doesn't answer."""
    folder = ROOT / "assets/demo_pairs"
    lines = [
        [line.split("\t") for line in (folder / name).read_text("utf-8").splitlines()]
        for name in ("faq.tsv", "queries.tsv")
    ]
    return [question for question, _ in lines[0]], lines[1]


@pytest.mark.usefixtures("zh_re2_questions")
def test_questions_are_found(faq: tuple[list[str], list[list[str]]]) -> None:
    questions, queries = faq
    pipe: Any = spacy.load("zh_re2_questions").get_pipe("re2_similarity")
    index = pipe.index(questions)
    first = [index.search(query, top_k=1)[0] for query, _ in queries]
    pairs = list(zip(queries, first, strict=True))
    right = [match.text == asked for (_, asked), match in pairs if asked]
    bm25 = [
        questions[best_of(index.contents.candidates.scores(terms_of(query)), 1)[0]] == asked
        for query, asked in queries
        if asked
    ]
    assert (len(right), len(queries)) == (139, 189)
    assert sum(right) / len(right) >= max(TOP_1, sum(bm25) / len(bm25))
    for question in questions:
        assert index.search(f"{question}？", top_k=1)[0][1:3] == (question, 1.0)
    assert index.search("今天天气怎么样", min_similarity=LEAST) == []
    answered = [match.similarity >= LEAST for (_, asked), match in pairs if not asked]
    kept = [match.similarity >= LEAST for (_, asked), match in pairs if match.text == asked]
    assert sum(kept) / len(kept) >= 0.9
    assert sum(answered) / len(answered) <= FALSE


@pytest.mark.usefixtures("zh_re2_questions")
def test_what_the_pipeline_of_questions_says_of_itself() -> None:
    (wheel,) = (ROOT / "assets/pipelines").glob("zh_re2_questions-*.whl")
    assert wheel.stat().st_size <= MOST
    nlp = spacy.load("zh_re2_questions")
    assert nlp.meta["name"] == "re2_questions"
    assert 0.7 < nlp.meta["performance"]["pairs_auc"] < 1
    assert "configs/zh_re2_questions.cfg" in nlp.meta["notes"]
    assert "Seed 1" in nlp.meta["notes"]
    assert {each for each in nlp.config["paths"].values() if each != "corpus"} <= {None}
    pipe: Any = nlp.get_pipe("re2_similarity")
    assert (
        pipe.similarity("怎么退款", "如何退款")
        > pipe.threshold
        > pipe.similarity("怎么退款", "怎么付款")
    )
    same, traditional = (pipe.similarity("发票怎么开", each) for each in ("如何开票", "如何開票"))
    assert same == pytest.approx(traditional)


# en_tener_wikiann


def english_texts(*kinds: str) -> list[dict[str, Any]]:
    lines = (ROOT / "assets/kinds_en/kinds.jsonl").read_text("utf-8").splitlines()
    return [text for text in map(json.loads, lines) if text["kind"] in kinds]


@pytest.mark.usefixtures("en_tener_wikiann")
def test_english_names() -> None:
    (wheel,) = (ROOT / "assets/pipelines").glob("en_tener_wikiann-*.whl")
    assert wheel.stat().st_size <= 15_000_000
    nlp = spacy.load("en_tener_wikiann")
    assert set(nlp.config["paths"].values()) == {None, "e5/english"}
    assert set(nlp.get_pipe("tener_ner").labels) == {"LOC", "ORG", "PER"}  # type: ignore[attr-defined]
    assert 0.81 < nlp.meta["performance"]["ents_f"] < 0.9
    texts = english_texts("news", "encyclopaedia")
    gold = {(at, *span) for at, text in enumerate(texts) for span in spans_of(text)}
    docs = nlp.pipe([text["text"] for text in texts], n_process=2)
    found = {
        (at, ent.start_char, ent.end_char, ent.label_)
        for at, doc in enumerate(docs)
        for ent in doc.ents
    }
    assert 2 * len(gold & found) / (len(gold) + len(found)) > 0.7
    first, *_ = nlp("emma watson flew from london to new york.").ents
    assert (first.text, first.label_) == ("emma watson", "PER")
    # Sentences without names, which WikiANN hardly has
    plain = (
        "Can I have the bill, please?",
        "The meeting begins at nine.",
        "How are you",
        "Next steps",
    )
    assert not any(doc.ents for doc in nlp.pipe(plain))


# zh_seq2seq_tatoeba


@pytest.mark.usefixtures("zh_seq2seq_tatoeba", "zh_flat_msra", "en_tener_wikiann")
def test_translations_and_their_entities() -> None:
    (wheel,) = (ROOT / "assets/pipelines").glob("zh_seq2seq_tatoeba-*.whl")
    assert wheel.stat().st_size <= MOST
    entities = {"components.seq2seq_translator.entities": "en_tener_wikiann"}
    nlp = spacy.load("zh_seq2seq_tatoeba", config=entities)
    assert set(nlp.config["paths"].values()) == {None}
    assert nlp.meta["performance"]["bleu"] > 0.18
    texts = {"你會說法語嗎？": "French", "汤姆喜欢音乐。": "music", "他住在巴黎。": "He lives in"}
    docs = list(nlp.pipe(texts, n_process=2))
    for doc, words in zip(docs, texts.values(), strict=True):
        assert words in doc._.translation
    (tom,) = docs[1]._.translation_ents
    assert (tom.text, tom.label) == ("Tom", "PER")
    recogniser = spacy.load("zh_flat_msra")
    recogniser.add_pipe("seq2seq_translator", source=spacy.load("zh_seq2seq_tatoeba"))
    doc = recogniser("汤姆住在波士顿。")
    assert {(ent.text, ent.source) for ent in doc._.translation_ents} == {
        ("Tom", (0, 2)),
        ("Boston", (4, 7)),
    }


# zh_char_tang

VERSES = ["床前明月光，疑是地上霜。", "白日依山尽，黄河入海流。", "春眠不觉晓，处处闻啼鸟。"]


@pytest.mark.usefixtures("zh_char_tang")
def test_verses_are_probable_and_their_errors_are_suspicious() -> None:
    (wheel,) = (ROOT / "assets/pipelines").glob("zh_char_tang-*.whl")
    assert wheel.stat().st_size <= 15_000_000
    nlp = spacy.load("zh_char_tang", config={"components.char_generator.suspicion": 8.0})
    assert set(nlp.config["paths"].values()) == {None}
    assert nlp.meta["performance"]["perplexity"] < 105
    verses = list(nlp.pipe(VERSES, n_process=2))
    assert [doc._.suspicious for doc in verses] == [[]] * len(VERSES)
    for text, verse in zip(VERSES, verses, strict=True):
        swapped = text[:2] + text[3] + text[2] + text[4:]
        assert verse._.perplexity < nlp(swapped)._.perplexity
    assert nlp("白日依山盡，黃河入海流。")._.perplexity == pytest.approx(verses[1]._.perplexity)
    (error,) = nlp("举头望明月，低头思胡乡。")._.suspicious
    assert error[:3] == (9, "胡", "故")


@pytest.mark.usefixtures("zh_char_tang")
def test_poems_have_the_form_that_is_asked_for() -> None:
    pipe: Any = spacy.load("zh_char_tang").get_pipe("char_generator")
    for form, columns in (("五绝", 5), ("七绝", 7)):
        (poem,) = pipe.acrostic("春夏秋冬", form, seed=1)
        assert [line[0] for line in poem.lines] == list("春夏秋冬")
        assert {len(line) for line in poem.lines} == {columns}
        (poem,) = pipe.poem(form, seed=1, rhyme=True, tones="平起")
        assert (poem.rhymes, poem.misplaced) == (True, ())


# zh_char_news

FOUND, ALARMS = 39, 4  # of typos.tsv: errors found and mended (43), and false alarms (1)


@pytest.mark.usefixtures("zh_char_news")
def test_homophones_typed_by_mistake_are_suspicious() -> None:
    (wheel,) = (ROOT / "assets/pipelines").glob("zh_char_news-*.whl")
    assert wheel.stat().st_size <= 15_000_000
    nlp = spacy.load("zh_char_news")
    assert set(nlp.config["paths"].values()) == {None}
    lines = (ROOT / "assets/release/typos.tsv").read_text("utf-8").splitlines()
    wrong, true = zip(*(line.split("\t") for line in lines), strict=True)
    found = alarms = 0
    for text, doc in zip(true, nlp.pipe(wrong, n_process=2), strict=True):
        mended = [each for each in doc._.suspicious if text[each.start] == each.expected]
        found += len(mended)
        alarms += len(doc._.suspicious) - len(mended)
    alarms += sum(len(doc._.suspicious) for doc in nlp.pipe(true))
    assert found >= FOUND
    assert alarms <= ALARMS


# All of them

MORE: dict[str, tuple[str, dict[str, Any]]] = {  # a text for each, and what is known of it
    "zh_flat_general": ("感冒灵在重庆卖完了", {"ents": [(0, 3, "COMPANY")]}),
    "en_tener_wikiann": ("aspirin is sold out", {"ents": [(0, 7, "ORG")]}),
    "zh_re2_questions": (join_pair("能退吗？", "在哪里退款"), {"cats": {"same": 1.0}}),
    "zh_char_tang": ("今天感冒灵卖完了。", {}),
    "zh_char_news": ("床前明月光，疑是地上霜。", {}),
    "zh_seq2seq_tatoeba": ("感冒灵卖完了。", {"translation": "The pills are gone."}),
}


@pytest.mark.parametrize("name", MORE)
def test_a_plain_loop_goes_on(name: str, request: pytest.FixtureRequest) -> None:
    """With the optimizer of the pipeline's own config."""
    request.getfixturevalue(name)
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
