"""What stands on a Doc stays there, however the Doc is passed on; and the page that shows it."""

from __future__ import annotations

import pickle
import re
import time

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_flat.translator.annotations import TranslationEnt
from spacy_flat.translator.page import side_by_side

TEXT = "王小明在IBM工作。"
TRANSLATION = "Wang Xiaoming works at <IBM>."
ENTS = (
    TranslationEnt("Wang Xiaoming", "PERSON", 0, 13, (0, 3)),
    TranslationEnt("IBM", "ORG", 24, 27),
)


@pytest.fixture(scope="module")
def nlp() -> Language:
    return spacy.blank("zh")


@pytest.fixture
def doc(nlp: Language) -> Doc:
    doc = nlp(TEXT)
    doc.set_ents([doc.char_span(0, 3, "PER")])
    doc._.translation = TRANSLATION
    doc._.translation_ents = reversed(ENTS)
    return doc


def test_entities_are_sorted(doc: Doc) -> None:
    assert doc._.translation_ents == ENTS
    assert [doc._.translation[ent.start : ent.end] for ent in ENTS] == [ent.text for ent in ENTS]


def test_a_doc_without_translation(nlp: Language) -> None:
    assert nlp("王")._.translation is None
    assert nlp("王")._.translation_ents == ()


def copied(doc: Doc, how: str) -> Doc:
    if how == "pickle":
        return pickle.loads(pickle.dumps(doc))
    if how == "bytes":  # of which worker processes make use
        return Doc(doc.vocab).from_bytes(doc.to_bytes())
    if how == "copy":
        return doc.copy()
    docs = DocBin(docs=[doc], store_user_data=True).to_bytes()
    return next(DocBin().from_bytes(docs).get_docs(doc.vocab))


@pytest.mark.parametrize("how", ["pickle", "bytes", "copy", "DocBin"])
def test_it_is_passed_on(doc: Doc, how: str) -> None:
    found = copied(doc, how)
    assert found._.translation == TRANSLATION
    assert found._.translation_ents == ENTS
    assert [type(ent.source) for ent in found._.translation_ents] == [tuple, type(None)]


# The page


def marks_of(html: str) -> list[tuple[str, ...]]:
    """Title, colour, text and label of each entity."""
    wanted = r'<mark class="entity" title="(.*?)" style="background: (.*?);.*?>(.*?)<span.*?>(.*?)<'
    return re.findall(wanted, html)


def test_both_sides_are_drawn_with_their_links(doc: Doc) -> None:
    html = side_by_side([doc], title="a < b")
    assert "<h1>a &lt; b</h1>" in html
    source, translation, other = marks_of(html)
    assert source[0::2] == ("Wang Xiaoming", "王小明")
    assert translation[0::2] == ("王小明", "Wang Xiaoming")
    assert source[1] == translation[1] != other[1]
    assert (source[3], translation[3], other[3]) == ("PER 1", "PERSON 1", "ORG")
    assert "&lt;" in html.split("works at")[1]
    assert html.index("works at") > html.index("工作")


def test_names_cannot_write_the_page(nlp: Language) -> None:
    """A label or a name may hold any characters."""
    doc = nlp('<b>"')
    doc.set_ents([doc.char_span(0, 4, '<i>"')])
    doc._.translation = '<u>"'
    doc._.translation_ents = [TranslationEnt('<u>"', "<s>", 0, 4, (0, 4))]
    html = side_by_side([doc])
    assert not re.search(r"<[bius]>", html)
    assert [(title, text) for title, _, text, _ in marks_of(html)] == [
        ("&lt;u&gt;&quot;", "&lt;b&gt;&quot;"),
        ("&lt;b&gt;&quot;", "&lt;u&gt;&quot;"),
    ]


def test_many_entities_are_drawn_fast(nlp: Language) -> None:
    doc = nlp("嘉定" * 5000)
    doc._.translation = "Jiading " * 5000
    doc._.translation_ents = [
        TranslationEnt("Jiading", "LOC", 8 * n, 8 * n + 7, (2 * n, 2 * n + 2)) for n in range(5000)
    ]
    begin = time.process_time()
    assert len(marks_of(side_by_side([doc]))) == 10_000
    assert time.process_time() - begin < 5.0  # 0.5 s when the machine is idle


def test_a_carried_name_that_is_no_entity_is_marked_too(nlp: Language) -> None:
    doc = nlp("在嘉定。")
    doc._.translation = "In Jiading."
    doc._.translation_ents = [TranslationEnt("Jiading", "", 3, 10, (1, 3))]
    assert [(title, text, label) for title, _, text, label in marks_of(side_by_side([doc]))] == [
        ("Jiading", "嘉定", "1"),
        ("嘉定", "Jiading", "1"),
    ]


def test_an_entity_with_white_space_is_marked_once(nlp: Language) -> None:
    doc = nlp(" 嘉定")
    doc.set_ents([doc.char_span(0, 3, "LOC")])
    doc._.translation = "Jiading"
    doc._.translation_ents = [TranslationEnt("Jiading", "LOC", 0, 7, (1, 3))]
    assert [text for _, _, text, _ in marks_of(side_by_side([doc]))] == ["嘉定", "Jiading"]


def test_text_without_translation_is_drawn_alone(nlp: Language) -> None:
    html = side_by_side([nlp("没有。"), nlp("")])
    assert "没有。" in html
    assert html.count("<section>") == 2
