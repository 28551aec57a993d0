"""Augmenters of entities: the text changes as meant, and all gold annotation follows it."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from converted import entities
from hypothesis import example, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span, Token
from spacy.training import Corpus, Example
from spacy.util import registry
from thinc.api import fix_random_seed

from spacy_flat.corpora import augmenters
from spacy_flat.corpora.augmenters import Augmenter, casing_augmenter, ner_augmenter
from spacy_flat.corpora.pieces import Piece, example_of, pieces_of
from spacy_flat.lexicon import Entry, WordList
from spacy_flat.ner.spans import gold_annotation

NLP = spacy.blank("zh")
NAMES = {"PER": ["王芳", "欧阳修远"], "LOC": ["重庆", "呼和浩特市"], "ORG": ["人和药店"]}
LISTS = {
    label: WordList([Entry(name, type=label) for name in names]) for label, names in NAMES.items()
}
ENGLISH = {"会议": "meeting", "会议室": "meeting room", "发后": "later", "头": "head"}
WORDS = WordList([Entry(word, type=english) for word, english in ENGLISH.items()])

Doc.set_extension("source", default="", force=True)
Span.set_extension("note", default="", force=True)
Token.set_extension("mark", default=False, force=True)


def doc_of(*pieces: Piece) -> Doc:
    return example_of(NLP, list(pieces), NLP.make_doc("")).reference


@st.composite
def docs(draw: st.DrawFn) -> Doc:
    """Docs of characters with entities, unknown stretches and attributes."""
    text = st.text("中国发后里头Ａ１a1，。 \n𠀀", min_size=1, max_size=8)
    label = st.sampled_from(["", None, "PER", "LOC", "MISC"])
    pieces = draw(st.lists(st.tuples(text, label), min_size=1, max_size=6))
    pieces = [(text.strip() if of else text, of) for text, of in pieces]
    doc = doc_of(("始", ""), *(piece for piece in pieces if piece[0]))
    doc.cats = {"news": 1.0}
    doc._.source = "here"
    return doc


def augmenter(*names: str, rate: float = 1.0, **settings: Any) -> Augmenter:
    return ner_augmenter(
        **dict.fromkeys(names, rate), **{"names": LISTS, "words": {"office": WORDS}} | settings
    )


@pytest.fixture(autouse=True)
def seeded() -> None:
    random.seed(0)


def augmented(augment: Augmenter, doc: Doc, times: int = 1) -> list[Doc]:
    example = Example(NLP.make_doc(doc.text), doc)
    found = [new for _ in range(times) for new in augment(NLP, example)]
    assert all(new.predicted.text == new.reference.text for new in found)
    return [new.reference for new in found]


def variants(doc: Doc, *names: str, times: int = 1) -> list[Doc]:
    return augmented(augmenter(*names), doc, times)


def texts(doc: Doc, name: str, times: int = 300) -> set[str]:
    return {new.text for new in variants(doc, name, times=times)}


def missing(doc: Doc) -> list[str]:
    return [token.text for token in doc if not token.ent_iob and not token.is_space]


def assert_rest(new: Doc, doc: Doc) -> None:
    """Everything but text and entities is as before."""
    assert new.cats == doc.cats
    assert new._.source == "here"


@settings(max_examples=30)
@example(doc_of(("王芳", "PER"), (" 在 ", ""), ("重庆", None)))
@given(docs())
def test_pieces_are_the_text_and_its_annotation(doc: Doc) -> None:
    pieces = pieces_of(doc)
    assert "".join(text for text, _ in pieces) == doc.text
    assert [piece for piece in pieces if piece[1]] == entities(doc)
    new = example_of(NLP, pieces, doc).reference
    assert [token.ent_iob_ for token in new] == [token.ent_iob_ for token in doc]


@settings(max_examples=30)
@given(docs(), st.integers(0, 1000))
def test_other_width_leaves_the_annotation(doc: Doc, seed: int) -> None:
    random.seed(seed)
    (new,) = variants(doc, "width")
    plain = str.maketrans(augmenters.TO_PLAIN)
    expected = [(text.translate(plain), of) for text, of in entities(doc)]
    assert [(text.translate(plain), of) for text, of in entities(new)] == expected
    assert len(new.text) == len(doc.text)
    assert len(missing(new)) == len(missing(doc))
    assert_rest(new, doc)


@settings(max_examples=30)
@given(docs(), st.integers(0, 1000))
def test_exchange(doc: Doc, seed: int) -> None:
    random.seed(seed)
    (new,) = variants(doc, "exchange")
    old_pieces, pieces = pieces_of(doc), pieces_of(new)
    chosen: dict[Piece, str] = {}
    for (text, label), (new_text, new_label) in zip(old_pieces, pieces, strict=True):
        assert label == new_label
        if label in NAMES and len(text) > 1:
            assert new_text in NAMES[label]
            assert chosen.setdefault((text, label), new_text) == new_text
        else:
            assert new_text == text
    assert_rest(new, doc)
    old_gold, gold = (gold_annotation(Example(NLP.make_doc(d.text), d)) for d in (doc, new))
    assert len(gold.unknown) == len(old_gold.unknown)


@pytest.mark.parametrize("part", ["span", "note", "mark", "id", "spaces"])
def test_texts_with_other_annotation_stay(part: str) -> None:
    doc = doc_of(("北京大学", "ORG"), ("在", ""))
    assert variants(doc, "exchange") != [doc]
    if part == "span":
        doc.spans["nested"] = [Span(doc, 0, 2, "LOC")]
    elif part == "note":
        doc.ents[0]._.note = "a university"
    elif part == "mark":
        doc[1]._.mark = True
    elif part == "id":
        doc.ents = [Span(doc, 0, 4, "ORG", kb_id="Q16952")]
    else:
        doc = Doc(NLP.vocab, words=["Ann", "left"])
    example = Example(doc.copy(), doc)
    assert [new.reference for new in augmenter("width", "exchange")(NLP, example)] == [doc]
    recased = [new.text for new in casing_augmenter(upper=1.0)(NLP, example)]
    assert recased == [doc.text, "ANN LEFT "][: 1 + (part == "spaces")]


@settings(max_examples=30)
@given(docs(), st.integers(0, 1000))
def test_mixed_leaves_the_annotation(doc: Doc, seed: int) -> None:
    random.seed(seed)
    (new,) = variants(doc, "mixed")
    assert entities(new) == entities(doc)
    assert_rest(new, doc)
    pattern = re.escape(doc.text).replace("发后", "(?:发后| ?later ?)")
    assert re.fullmatch(pattern, new.text)


def test_mixed() -> None:
    """At most three words of two characters or more, the longest at each place."""
    doc = doc_of(("会议", "ORG"), ("在会议室的头", ""))
    assert texts(doc, "mixed") == {"会议在meeting room的头", "会议在 meeting room 的头"}
    assert texts(NLP.make_doc("没有"), "mixed") == {"没有"}
    twice = {"one": WORDS, "two": WordList([Entry("发后", type="afterwards")])}
    (new,) = augmented(augmenter("mixed", words=twice), NLP.make_doc("发后"))
    assert new.text.strip() == "later"  # the first counts
    found = texts(NLP.make_doc("会议，会议，会议，会议"), "mixed")
    assert {text.count("会议") for text in found} == {1, 2, 3}
    names = {"names": WordList([Entry("会议", type="ORG"), Entry("Later", type="ORG")])}
    augment = augmenter("mixed", names=names)
    doc = NLP.make_doc("会议在发后")
    assert {new.text for new in augmented(augment, doc, 50)} == {doc.text}


def test_mixed_has_names_in_latin_letters() -> None:
    """The same form for one name all over the text."""
    doc = doc_of(("王芳", "PER"), ("在", ""), ("重庆", "LOC"), ("王芳", "PER"))
    names = LISTS | {"latin": WordList([Entry("Ann Lee", type="PER")])}
    augment = augmenter("mixed", names=names, words={})
    found = [entities(new) for new in augmented(augment, doc, 50)]
    assert {names[0] for names in found} == {("王芳", "PER"), ("Ann Lee", "PER")}
    assert {names[1] for names in found} == {("重庆", "LOC")}
    assert all(names[2] == names[0] for names in found)
    short = doc_of(("渝", "PER"))
    assert {new.text for new in augmented(augment, short, 20)} == {short.text}


def test_some_persons_have_a_title() -> None:
    """Only the surname is the name; the title after it is not a name in any corpus. Names such as
    老王 are whole."""
    doc = doc_of(("王芳", "PER"), ("说，", ""), ("王芳", "PER"))
    titles = WordList([Entry(title, type="TITLE") for title in augmenters.TITLES])
    short = {title for title in augmenters.TITLES if len(title) == 1}  # no names
    for names, expected in (({}, {*augmenters.TITLES}), ({"titles": titles}, short)):
        augment = ner_augmenter(exchange=1.0, persons=["PER"], names=names)
        found = augmented(augment, doc, 900)
        titled = [new for new in found if len(new.ents[0]) == 1]
        assert 15 < len(titled) < 90
        for new in titled:
            assert new.ents[0].text == new.ents[1].text in augmenters.SURNAMES
            before, after = new.text.split("说，")
            assert before == after
            assert before[1:] in expected
        called = [new.ents[0].text for new in found if re.match("[老小阿]|.*[某老]$", new.text[:3])]
        assert {"老", "阿"} < {name[0] for name in called}
        assert "某" in {name[1] for name in called}


def test_half_of_the_other_persons_are_made_up() -> None:
    """Of characters that persons of the lists have, of others, and of ordinary words."""
    names = {"persons": WordList([Entry("冯燚", type="PER"), Entry("Ann", type="PER")])}
    augment = ner_augmenter(exchange=1.0, persons=["PER"], names=names)
    found = [new.ents[0].text for new in augmented(augment, doc_of(("王芳", "PER")), 2000)]
    made_up = [name for name in found if len(name) > 1 and name not in ("冯燚", "Ann")]
    assert 800 < len(made_up) - len([name for name in made_up if name[0] in "老小阿"]) < 1100
    assert {len(name) for name in made_up} == {2, 3, 4}
    given = "".join(name[1:] for name in made_up)
    assert given.count("燚") > len(given) / 2 > 100 * given.count("n")
    assert len({*given} & {*augmenters.GIVEN_NAMES}) > 90
    assert {name[1:] for name in made_up} & {*augmenters.GIVEN_WORDS}
    assert {*made_up} & {*augmenters.WORD_PERSONS}
    called = WordList([Entry(name, type="PER") for name in ("王某", "欧阳锋", "冯燚玥琨", "冯燚")])
    assert augmenters.Choices([], [called], ["PER"], []).given == "燚"


@pytest.mark.parametrize(
    ("text", "expected"), [("a1, b。", {"ａ１， ｂ。"}), ("Ａ１，b", {"A1,b"})]
)
def test_forms_of_texts(text: str, expected: set[str]) -> None:
    assert texts(NLP.make_doc(text), "width") == expected


# In a config


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "train.spacy"
    pieces = [("王芳", "PER"), ("在", ""), ("重庆", "LOC"), ("，", ""), ("京", "LOC")]
    DocBin(docs=[doc_of(*pieces)] * 20).to_disk(path)
    return path


def read(corpus: Path, **settings: Any) -> Iterator[str]:
    config = {
        "@augmenters": "spacy-flat.ner_augmenter.v1",
        "corpora": {"here": str(corpus), "none": None},
    } | settings
    augment = registry.resolve({"augmenter": config})["augmenter"]
    return (example.text for example in Corpus(corpus, augmenter=augment)(NLP))


def test_a_corpus_gives_the_names(corpus: Path) -> None:
    assert set(read(corpus, exchange=1.0)) == {"王芳在重庆，京"}
    assert len(set(read(corpus, exchange=1.0, persons=["PER"]))) > 5
    found = []
    for seed in (1, 1, 2):
        fix_random_seed(seed)
        found.append([*read(corpus, persons=["PER"], width=0.5, exchange=0.5)])
    assert found[0] == found[1] != found[2]


def test_names_of_one_corpus_stand_for_the_same_in_another(tmp_path: Path) -> None:
    """The ORG of a coarse corpus may be a company; a company is not just any ORG."""
    coarse, fine = tmp_path / "coarse.spacy", tmp_path / "fine.spacy"
    doc = doc_of(("王芳", "PER"), ("人和药店", "ORG"))
    doc._.coarse_labels = {"ORG": ("ORG", "COMPANY")}
    DocBin(docs=[doc], store_user_data=True).to_disk(coarse)
    doc = doc_of(("李强", "name"), ("腾飞公司", "COMPANY"), ("市图书馆", "ORG"))
    doc._.coarse_labels = {"name": ("PER",)}
    DocBin(docs=[doc], store_user_data=True).to_disk(fine)
    corpora = {"corpora": {"coarse": str(coarse), "fine": str(fine)}}
    assert set(read(coarse, exchange=1.0, **corpora)) <= {"王芳人和药店", "李强人和药店"}
    exchanged = {text for _ in range(20) for text in read(fine, exchange=1.0, **corpora)}
    assert exchanged == {"王芳腾飞公司市图书馆", "李强腾飞公司市图书馆"}


def test_what_can_not_be() -> None:
    for rate in (-0.1, 1.5, "much", None):
        with pytest.raises(ValueError, match=r"F341.*width"):
            ner_augmenter(width=rate)
        with pytest.raises(ValueError, match="F341"):
            casing_augmenter(lower=rate)
    with pytest.raises(ValueError, match="F149"):
        ner_augmenter(exchange=1.0)


# Other case


def test_annotation_follows_the_words() -> None:
    """Also where capitals are more characters than the letters."""
    nlp = spacy.blank("en")
    doc = nlp.make_doc("Don't ask Ann Lee in Straße 5.")
    doc.set_ents([Span(doc, 3, 5, "PER"), Span(doc, 6, 7, "LOC")], missing=[doc[0:2]])
    doc._.source = "here"
    doc.cats = {"news": 1.0}
    example = Example(nlp.make_doc(doc.text), doc)
    for rates, expected in (
        ({"lower": 1.0}, [("ann lee", "PER"), ("straße", "LOC")]),
        ({"upper": 1.0}, [("ANN LEE", "PER"), ("STRASSE", "LOC")]),
    ):
        same, new = casing_augmenter(**rates)(nlp, example)
        assert same is example
        assert entities(new.reference) == expected
        assert len(missing(new.reference)) == 5
        assert_rest(new.reference, doc)
        found = gold_annotation(new).spans
        assert [new.predicted.text[a:b] for a, b, _ in found] == [text for text, _ in expected]
