"""Augmenters of Chinese entities: the text changes as meant, and all gold annotation follows it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from converted import entities
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span, Token
from spacy.training import Corpus, Example
from spacy.util import registry
from thinc.api import fix_random_seed

from spacy_flat.corpora import augmenters
from spacy_flat.corpora.augmenters import NerAugmenter, layout, ner_augmenter, social, width
from spacy_flat.corpora.edits import Edit, can_edit, composed, edited, is_free, respelled
from spacy_flat.lexicon import Entry, WordList
from spacy_flat.ner.spans import gold_annotation

NLP = spacy.blank("zh")
NAMES = {"PER": ["王芳", "欧阳修远"], "LOC": ["重庆", "呼和浩特市"], "ORG": ["人和药店"]}
LISTS = {
    label: WordList([Entry(name, type=label) for name in names]) for label, names in NAMES.items()
}
ENGLISH = {"会议": "meeting", "会议室": "meeting room", "发后": "later", "头": "head"}
WORDS = WordList([Entry(word, type=english) for word, english in ENGLISH.items()])
OTHERS = ["width", "exchange", "layout", "social", "lists", "tables"]  # than mixed

Doc.set_extension("source", default="", force=True)
Span.set_extension("note", default="", force=True)
Token.set_extension("mark", default=False, force=True)


@st.composite
def docs(draw: st.DrawFn) -> Doc:
    """Docs of characters with entities, unknown stretches, spans and attributes."""
    text = st.text("中国发后里头Ａ１a1，。 \n𠀀", min_size=1, max_size=8)
    label = st.sampled_from(["", "PER", "LOC", "MISC"])
    pieces = draw(st.lists(st.tuples(text, label), min_size=1, max_size=6))
    pieces = [(text.strip() if of else text, of) for text, of in pieces]
    doc = composed(NLP.make_doc(""), [("始", ""), *(piece for piece in pieces if piece[0])])
    visible = [token.i for token in doc if not token.is_space]
    free = [i for i in visible if not doc[i].ent_type]
    missing = draw(st.sets(st.sampled_from(free)))
    doc.set_ents(list(doc.ents), missing=[doc[i : i + 1] for i in missing], default="outside")
    doc.cats = {"news": 1.0}
    doc._.source = "here"
    return doc


def augmenter(*names: str, rate: float = 1.0, **settings: Any) -> NerAugmenter:
    return ner_augmenter(
        **dict.fromkeys(names, rate), names=LISTS, words={"office": WORDS}, **settings
    )


@pytest.fixture(autouse=True)
def seeded() -> None:
    random.seed(0)


def augmented(augment: NerAugmenter, doc: Doc, times: int = 1) -> list[Doc]:
    example = Example(NLP.make_doc(doc.text), doc)
    return [new.reference for _ in range(times) for new in augment(NLP, example)]


def variants(doc: Doc, *names: str) -> list[Doc]:
    return augmented(augmenter(*names), doc)


def missing(doc: Doc) -> list[str]:
    return [token.text for token in doc if not token.ent_iob]


def assert_rest(new: Doc, doc: Doc) -> None:
    """Everything but text and entities is as before."""
    assert new.cats == doc.cats
    assert new._.source == "here"


# Edits


@settings(max_examples=30)
@given(docs(), st.data())
def test_edits_move_the_annotation(doc: Doc, data: st.DataObject) -> None:
    ends = {place for ent in doc.ents for place in range(ent.start_char + 1, ent.end_char)}
    places = sorted(set(range(len(doc.text) + 1)) - ends)
    chosen = sorted(data.draw(st.sets(st.sampled_from(places))))
    new = edited(doc, [Edit(place, place, "×") for place in chosen])
    assert new.text == "".join("×" * (i in chosen) + char for i, char in enumerate([*doc.text, ""]))
    assert entities(new) == entities(doc)
    assert [text for text in missing(new) if text != "×"] == missing(doc)
    assert_rest(new, doc)


def test_edits_beside_each_other_keep_their_order() -> None:
    doc = composed(NLP.make_doc(""), [("王芳", "PER"), ("重庆", "LOC")])
    left, right = [Edit(0, 0, "<"), Edit(2, 2, ">")], [Edit(2, 2, "<"), Edit(4, 4, ">")]
    new = edited(doc, [*left, *right, Edit(2, 4, "上海市")])
    assert new.text == "<王芳><上海市>"
    assert entities(new) == [("王芳", "PER"), ("上海市", "LOC")]


@settings(max_examples=30)
@given(docs())
def test_respelling_keeps_places(doc: Doc) -> None:
    new = respelled(doc, doc.text.replace("中", "大"))
    assert entities(new) == [(text.replace("中", "大"), of) for text, of in entities(doc)]
    assert missing(new) == [text.replace("中", "大") for text in missing(doc)]


def test_blocked_tokens_stay() -> None:
    doc = NLP.make_doc("王芳在重庆")
    doc.set_ents([Span(doc, 0, 2, "PER")], blocked=[doc[3:5]], default="outside")
    new = edited(doc, [Edit(0, 0, "：")])
    assert [token.ent_iob_ for token in new] == ["O", "B", "I", "O", "B", "B"]


# Each augmentation


@settings(max_examples=30)
@given(docs(), st.sampled_from(["width", "layout", "social"]), st.integers(0, 1000))
def test_names_stay_whole(doc: Doc, name: str, seed: int) -> None:
    random.seed(seed)
    (new,) = variants(doc, name)
    plain = str.maketrans(augmenters.TO_PLAIN)
    expected = [(text.translate(plain), of) for text, of in entities(doc)]
    assert [(text.translate(plain), of) for text, of in entities(new)] == expected
    if name == "width":
        assert len(new.text) == len(doc.text)
        assert missing(new) == [
            token.text for token in respelled(doc, new.text) if not token.ent_iob
        ]
    else:
        rest = iter(new.text)
        assert all(char in rest for char in doc.text)
    assert_rest(new, doc)


@settings(max_examples=30)
@given(docs(), st.integers(0, 1000))
def test_exchange(doc: Doc, seed: int) -> None:
    random.seed(seed)
    (new,) = variants(doc, "exchange")
    assert [ent.label_ for ent in new.ents] == [ent.label_ for ent in doc.ents]
    chosen: dict[tuple[str, str], str] = {}
    for old, ent in zip(doc.ents, new.ents, strict=True):
        if ent.label_ in NAMES and len(old.text) > 1:
            assert ent.text in NAMES[ent.label_]
            assert chosen.setdefault((old.text, old.label_), ent.text) == ent.text
        else:
            assert ent.text == old.text
    assert _outside(new) == _outside(doc)
    assert missing(new) == missing(doc)
    assert_rest(new, doc)
    old_gold, gold = (gold_annotation(Example(NLP.make_doc(d.text), d)) for d in (doc, new))
    assert len(gold.unknown) == len(old_gold.unknown)


def _outside(doc: Doc) -> list[str]:
    ends = [0, *(place for ent in doc.ents for place in (ent.start_char, ent.end_char))]
    ends.append(len(doc.text))
    return [doc.text[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]


@pytest.mark.parametrize("part", ["span", "note", "mark", "id"])
def test_texts_with_other_annotation_stay(part: str) -> None:
    doc = composed(NLP.make_doc(""), [("北京大学", "ORG"), ("在", "")])
    assert can_edit(doc)
    if part == "span":
        doc.spans["nested"] = [Span(doc, 0, 2, "LOC")]
    elif part == "note":
        doc.ents[0]._.note = "a university"
    elif part == "mark":
        doc[1]._.mark = True
    else:
        doc.ents = [Span(doc, 0, 4, "ORG", kb_id="Q16952")]
    assert variants(doc, *OTHERS) == [doc]


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(["lists", "tables"]))
def test_lists_and_tables(seed: int, name: str) -> None:
    random.seed(seed)
    doc = NLP.make_doc("他来了")
    doc._.source = "here"
    same, new = variants(doc, name)
    assert same is doc
    assert new._.source == "here"
    assert all(text in NAMES[label] for text, label in entities(new))
    assert entities(new) or name == "tables"
    assert sum(new.text.count(each) for names in NAMES.values() for each in names) == len(new.ents)
    assert not missing(new)


def test_tables_have_ordinary_cells() -> None:
    """Cells that are not names are words and numbers, under headers of both kinds."""
    doc = NLP.make_doc("他来了")
    tables = [variants(doc, "tables")[1] for _ in range(500)]
    texts = [new.text for new in tables]
    assert any(text.startswith("| ") and "|\n| --- |" in text for text in texts)
    assert any(text.startswith('"') and '": "' in text for text in texts)
    assert any(re.search(r"\n王芳[,\t](会议|发后|头)", text) for text in texts)
    assert any(re.match(r"(会议|发后|头)[,\t]", text) for text in texts)
    assert any("meeting" in text.lower() for text in texts)
    assert any(char.isdigit() for text in texts for char in text)
    n_bare = sum(not new.ents for new in tables)
    assert 0.1 < n_bare / len(tables) < 0.4
    without = ner_augmenter(tables=1.0, names=LISTS)
    assert not any(word in new.text for new in augmented(without, doc, 100) for word in ENGLISH)


@settings(max_examples=30)
@given(docs(), st.integers(0, 1000))
def test_mixed_leaves_the_annotation(doc: Doc, seed: int) -> None:
    random.seed(seed)
    (new,) = variants(doc, "mixed")
    assert entities(new) == entities(doc)
    assert_rest(new, doc)
    english = "|".join(sorted(ENGLISH.values(), key=len, reverse=True))
    phrase = rf" ?(?:later|head)(?: (?:{english}))* ?"
    pattern = re.escape(doc.text).replace("发后", f"(?:发后|{phrase})")
    assert re.fullmatch(pattern, new.text, re.IGNORECASE)


def test_mixed() -> None:
    doc = composed(NLP.make_doc(""), [("会议", "ORG"), ("在会议室的头", "")])
    texts = {variants(doc, "mixed")[0].text for _ in range(500)}
    assert {"会议在meeting room的头", "会议在 meeting room 的头"} <= texts
    assert all(re.fullmatch("会议在 ?meeting room[a-z ]*的头", text.lower()) for text in texts)
    assert {"会议在MEETING ROOM的头", "会议在Meeting room的头"} <= texts
    assert "会议在meeting room later head的头" in texts
    plain = NLP.make_doc("没有")
    assert variants(plain, "mixed")[0].text == "没有"
    several = NLP.make_doc("头会议，会议，会议，会议a")
    texts = {variants(several, "mixed")[0].text for _ in range(200)}
    assert {text.count("会议") for text in texts} == {1, 2, 3}
    assert not any(re.search("[a-z]a$", text, re.IGNORECASE) for text in texts)
    beside = NLP.make_doc("会议会议室")
    assert all("会议" in variants(beside, "mixed")[0].text for _ in range(50))
    augment = ner_augmenter(mixed=1.0, words={"office": WORDS})  # without names
    assert "会议" not in augmented(augment, doc)[0].text[2:5]


def test_mixed_has_names_in_latin_letters() -> None:
    """The same form for one name all over the text."""
    doc = composed(
        NLP.make_doc(""), [("王芳", "PER"), ("在", ""), ("重庆", "LOC"), ("王芳", "PER")]
    )
    names = {"latin": WordList([Entry("Ann Lee", type="PER")])}
    augment = ner_augmenter(mixed=1.0, names=LISTS | names, words={"office": WORDS})
    found = [entities(new) for new in augmented(augment, doc, 50)]
    assert {name for name, _ in found[0]} <= {"王芳", "Ann Lee", "重庆"}
    assert {names[0] for names in found} == {("王芳", "PER"), ("Ann Lee", "PER")}
    assert {names[1] for names in found} == {("重庆", "LOC")}
    assert all(names[2] == names[0] for names in found)
    doc = composed(NLP.make_doc(""), [("渝", "PER")])
    assert {new.text for new in augmented(augment, doc, 20)} == {doc.text}
    doc = composed(NLP.make_doc(""), [("王芳", "PER")])
    doc._.coarse_labels = {"PER": ("ANY",)}
    doc.ents = [Span(doc, 0, 2, "PER")]
    assert augmented(augment, doc)[0].text == "王芳"


def test_some_persons_have_a_title() -> None:
    """The surname is the name; prefixes and titles are outside."""
    doc = composed(NLP.make_doc(""), [("王芳", "PER"), ("说，", ""), ("王芳", "PER")])
    augment = ner_augmenter(exchange=1.0, persons=["PER"])
    titled = [new for new in augmented(augment, doc, 900) if len(new.ents[0]) == 1]
    assert 30 < len(titled) < 180
    for new in titled:
        assert new.ents[0].text == new.ents[1].text in augmenters.SURNAMES
        before, after = new.text.split("说，")
        assert before == after
        assert before.strip(new.ents[0].text) in {*augmenters.PREFIXES, *augmenters.TITLES}
    assert any(new.text.startswith("小") for new in titled)
    assert any("老师说" in new.text for new in titled)


def test_titles_that_are_names_are_not_written_as_others() -> None:
    """Corpora may annotate titles, and word lists have names among ordinary words."""
    titles = {"titles": WordList([Entry(title, type="TITLE") for title in augmenters.TITLES])}
    names = {"names": WordList([Entry("Head", type="ORG"), Entry("会议", type="ORG")])}
    augment = ner_augmenter(
        exchange=1.0, tables=1.0, persons=["PER"], names=titles | names, words={"office": WORDS}
    )
    assert augment.ordinary == {"会议室": "meeting room", "发后": "later"}
    doc = composed(NLP.make_doc(""), [("王芳", "PER"), ("说", "")])
    for new in augmented(augment, doc, 200)[::2]:
        if len(new.ents[0]) == 1:
            assert len(new.text.strip(new.ents[0].text + "说")) == 1  # 老, 总: no names


@pytest.mark.parametrize(
    ("before", "after", "coarse"),
    [
        ("老师", "说", None),
        ("小", "说", None),
        ("", "主任说", None),
        ("", "说", {"PER": ("PER", "ORG")}),
    ],
)
def test_no_second_title(before: str, after: str, coarse: dict[str, Any] | None) -> None:
    doc = composed(NLP.make_doc(""), [(before, ""), ("王芳", "PER"), (after, "")])
    doc._.coarse_labels = coarse
    names = {"any": WordList([Entry("王芳", type="PER")])}
    augment = ner_augmenter(exchange=1.0, persons=["PER"], names=names)
    augment.pools["PER", "ORG"] = [["王芳公司"]]
    for new in augmented(augment, doc, 200):
        assert len(new.ents[0]) > 1
        assert new.text.startswith(before)
        assert new.text.endswith(new.ents[0].text + after)


@pytest.mark.parametrize("part", ["ent", "missing", "token"])
def test_what_is_free(part: str) -> None:
    doc = NLP.make_doc("他在会议上")
    doc.set_ents([], default="outside")
    assert is_free(doc, 2, 4)
    if part == "ent":
        doc.ents = [Span(doc, 3, 5, "ORG")]
    elif part == "missing":
        doc.set_ents([], missing=[doc[3:4]], default="outside")
        assert is_free(doc, 0, 3)  # all of it, or none
        assert is_free(doc, 3, 4)
    else:
        doc = Doc(NLP.vocab, ["他在", "会议上"], spaces=[False, False])
    assert not is_free(doc, 2, 4)


def test_persons_have_two_to_four_characters() -> None:
    names = {augmenters.made_up() for _ in range(1000)}
    assert {len(name) for name in names} == {2, 3, 4}
    assert augmenter(persons=["NAME"]).name("NAME", NLP.make_doc("")) not in NAMES["PER"]


@pytest.mark.parametrize(("text", "expected"), [("a1, b。", "ａ１， ｂ。"), ("Ａ１，b", "A1,b")])
def test_width(text: str, expected: str) -> None:
    assert width(NLP.make_doc(text)).text == expected


def test_layout_and_social() -> None:
    doc = composed(NLP.make_doc(""), [("王芳", "PER"), ("，在", ""), ("重庆", "LOC")])
    layouts = {layout(doc).text for _ in range(500)}
    assert {"<p>王芳，在重庆</p>", "王芳，\n在重庆", "**王芳**，在**重庆**"} <= layouts
    texts = {social(doc).text for _ in range(500)}
    assert any(text.startswith("#") and "😂" in text for text in texts)


# In a config


@settings(max_examples=30)
@given(docs(), st.integers(0, 1000))
def test_all_together(doc: Doc, seed: int) -> None:
    random.seed(seed)
    new, *added = variants(doc, *OTHERS)
    assert len(new.ents) == len(doc.ents)
    assert len(added) == 2
    assert_rest(new, doc)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "train.spacy"
    pieces = [("王芳", "PER"), ("在", ""), ("重庆", "LOC"), ("，", ""), ("京", "LOC")]
    DocBin(docs=[composed(NLP.make_doc(""), pieces)] * 20).to_disk(path)
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


def test_names_of_one_corpus_stand_for_the_same_in_another(tmp_path: Path) -> None:
    """The ORG of a coarse corpus may be a company; a company is not just any ORG."""
    coarse, fine = tmp_path / "coarse.spacy", tmp_path / "fine.spacy"
    doc = composed(NLP.make_doc(""), [("王芳", "PER"), ("人和药店", "ORG")])
    doc._.coarse_labels = {"ORG": ("ORG", "COMPANY")}
    DocBin(docs=[doc], store_user_data=True).to_disk(coarse)
    doc = composed(
        NLP.make_doc(""), [("李强", "name"), ("腾飞公司", "COMPANY"), ("市图书馆", "ORG")]
    )
    doc._.coarse_labels = {"name": ("PER",)}
    DocBin(docs=[doc], store_user_data=True).to_disk(fine)
    corpora = {"corpora": {"coarse": str(coarse), "fine": str(fine)}}
    assert set(read(coarse, exchange=1.0, **corpora)) <= {"王芳人和药店", "李强人和药店"}
    exchanged = {text for _ in range(20) for text in read(fine, exchange=1.0, **corpora)}
    assert exchanged == {"王芳腾飞公司市图书馆", "李强腾飞公司市图书馆"}
    augment = ner_augmenter(lists=1.0, **corpora)
    for path, names in (
        (coarse, {"PER": "王芳李强", "ORG": "人和药店", "COMPANY": "腾飞公司"}),
        (fine, {"name": "王芳李强", "PER": "王芳李强", "COMPANY": "腾飞公司", "ORG": "市图书馆"}),
    ):
        (example,) = Corpus(path)(NLP)
        lists = [[*augment(NLP, example)][1].reference for _ in range(100)]
        assert all(ent.text in names[ent.label_] for new in lists for ent in new.ents)
        assert {ent.label_ for new in lists for ent in new.ents} == set(names)


def test_no_list_where_no_name_has_the_labels() -> None:
    doc = composed(NLP.make_doc(""), [("王芳", "PER")])
    doc._.coarse_labels = {"PER": ("PER", "ROLE")}
    augment = ner_augmenter(lists=1.0, tables=1.0, persons=["PER"])
    assert augmented(augment, doc) == [doc]


def test_seeds(corpus: Path) -> None:
    found = []
    for seed in (1, 1, 2):
        fix_random_seed(seed)
        rates = dict.fromkeys(OTHERS, 0.5)
        found.append([*read(corpus, persons=["PER"], **rates)])
    assert found[0] == found[1] != found[2]


def test_words_with_unknown_spaces_stay() -> None:
    doc = Doc(NLP.vocab, words=["Ann", "left"])
    assert variants(doc, "social") == [doc]


def test_reference_of_words() -> None:
    doc = Doc(NLP.vocab, ["王芳", "在", "重庆"], spaces=[False] * 3, ents=["B-PER", "O", "B-LOC"])
    doc.set_ents([], missing=[doc[1:2]], default="unmodified")
    (new,) = variants(doc, "social")
    assert entities(new) == [("王芳", "PER"), ("重庆", "LOC")]
    assert missing(new) == ["在"]


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_rates_are_shares(rate: float) -> None:
    with pytest.raises(ValueError, match="F341"):
        ner_augmenter(layout=rate)


def test_persons_with_a_label_that_no_name_has(corpus: Path) -> None:
    with pytest.warns(UserWarning, match=r"W161.*persons = \['PERSON'\]"):
        next(read(corpus, lists=1.0, persons=["PER", "PERSON"]))
    names = {"mine": WordList([Entry("渝", type="NAME")])}  # too short, but known
    augment = ner_augmenter(lists=1.0, persons=["NAME"], names=names)
    doc = NLP.make_doc("他来了")
    assert len([*augment(NLP, Example(doc.copy(), doc))]) == 2


def test_words_that_are_no_entities_are_not_names() -> None:
    names = {"mine": WordList([Entry("杭州", type="not_entity"), Entry("王芳", type="PER")])}
    doc = NLP.make_doc("他来了")
    random.seed(0)
    for _ in range(50):
        augment = ner_augmenter(lists=1.0, names=names)
        _, new = (new.reference for new in augment(NLP, Example(doc.copy(), doc)))
        assert {ent.text for ent in new.ents} == {"王芳"}


def test_mixed_needs_words() -> None:
    with pytest.raises(ValueError, match=r"F341.*mixed"):
        ner_augmenter(mixed=0.1, names=LISTS)


def test_exchange_needs_names() -> None:
    doc = composed(NLP.make_doc(""), [("王芳", "PER")])
    with pytest.raises(ValueError, match="F149"):
        augmented(ner_augmenter(exchange=1.0), doc)
