"""Texts in another case, with their annotation."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
import spacy
from converted import entities
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_flat.corpora.casing import casing_augmenter, recased

NLP = spacy.blank("en")
Doc.set_extension("source", default="", force=True)


def gold(text: str = "Ann Lee works in Straße 5.") -> Doc:
    doc = NLP.make_doc(text)
    doc.ents = [Span(doc, 0, 2, "PER"), Span(doc, 4, 5, "LOC")]
    doc._.source = "here"
    doc.cats = {"news": 1.0}
    return doc


def test_annotation_follows_the_words() -> None:
    example = Example(NLP.make_doc(gold().text), gold())
    for change, expected in (
        (str.lower, [("ann lee", "PER"), ("straße", "LOC")]),
        (str.upper, [("ANN LEE", "PER"), ("STRASSE", "LOC")]),
    ):
        new = recased(NLP, example, change)
        assert entities(new.reference) == expected
        assert new.predicted.text == new.reference.text == change(gold().text)
        assert (new.reference.cats, new.reference._.source) == ({"news": 1.0}, "here")
    assert entities(example.reference) == [("Ann Lee", "PER"), ("Straße", "LOC")]


def test_unknown_entities_and_tokens_of_a_corpus() -> None:
    """Where nobody annotated, the variant says so; words without known spaces stay as they are."""
    doc = Doc(NLP.vocab, words=["Don't", "New", "York"])
    doc.set_ents([Span(doc, 2, 3, "LOC")], missing=[doc[1:2]], default="outside")
    example = Example(Doc(NLP.vocab, words=[token.text for token in doc]), doc)
    new = recased(NLP, example, str.upper)
    assert [token.text for token in new.predicted] == ["DON'T", "NEW", "YORK"]
    assert [token.ent_iob_ for token in new.reference] == ["O", "", "B"]


def test_spans_and_links_follow_the_words() -> None:
    """Also where capitals are more characters than the letters."""
    doc = NLP.make_doc("In Gießen don't ask the U.S.A.'s Ann Lee.")
    start = [token.text for token in doc].index("Ann")
    doc.ents = [Span(doc, 1, 2, "LOC", kb_id="Q3874"), Span(doc, start, start + 2, "PER")]
    doc.spans["names"] = [Span(doc, start, start + 2, "PER", kb_id="Q1")]
    doc.user_data["private"] = 1
    new = recased(NLP, Example(NLP.make_doc(doc.text), doc), str.upper).reference
    assert [(ent.text, ent.label_, ent.kb_id_) for ent in new.ents] == [
        ("GIESSEN", "LOC", "Q3874"),
        ("ANN LEE", "PER", ""),
    ]
    (span,) = new.spans["names"]
    assert (span.text, span.label_, span.kb_id_) == ("ANN LEE", "PER", "Q1")
    assert [token.text for token in new] == [token.text.upper() for token in doc]
    assert "private" not in new.user_data


def test_shares() -> None:
    random.seed(0)
    augment = casing_augmenter(lower=0.2, upper=0.1)
    example = Example(NLP.make_doc(gold().text), gold())
    texts = Counter(new.text for _ in range(2000) for new in augment(NLP, example))
    assert texts[gold().text] == 2000
    assert texts[gold().text.lower()] == pytest.approx(400, abs=80)
    assert texts[gold().text.upper()] == pytest.approx(200, abs=60)


@pytest.mark.parametrize("rates", [(-0.1, 0.0), (0.0, 1.1), ("much", 0.0), (0.0, None)])
def test_rates_are_shares(rates: Any) -> None:
    with pytest.raises(ValueError, match="F341"):
        casing_augmenter(*rates)
