"""What stands on a Doc stays there, however the Doc is passed on."""

from __future__ import annotations

import pickle

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_flat.translator.annotations import TranslationEnt

TRANSLATION = "Wang Xiaoming works at <IBM>."
ENTS = (
    TranslationEnt("Wang Xiaoming", "PERSON", 0, 13, (0, 3)),
    TranslationEnt("IBM", "ORG", 24, 27),
)


def copied(doc: Doc, how: str) -> Doc:
    if how == "pickle":
        return pickle.loads(pickle.dumps(doc))
    if how == "bytes":  # of which worker processes make use
        return Doc(doc.vocab).from_bytes(doc.to_bytes())
    docs = DocBin(docs=[doc], store_user_data=True).to_bytes()
    return next(DocBin().from_bytes(docs).get_docs(doc.vocab))


@pytest.mark.parametrize("how", ["pickle", "bytes", "DocBin"])
def test_it_is_passed_on_in_order(how: str) -> None:
    doc = spacy.blank("zh")("王小明在IBM工作。")
    assert (doc._.translation, doc._.translation_ents, doc._.translation_sents) == (None, (), ())
    doc._.translation = TRANSLATION
    doc._.translation_ents = reversed(ENTS)
    doc._.translation_sents = [((0, 10), (0, 29))]
    found = copied(doc, how)
    assert found._.translation == TRANSLATION
    assert found._.translation_ents == ENTS
    assert found._.translation_sents == (((0, 10), (0, 29)),)
    assert [type(ent.source) for ent in found._.translation_ents] == [tuple, type(None)]
