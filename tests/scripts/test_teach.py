"""Corpora that a pipeline completes."""

import spacy
from converted import entities
from teach import completed

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
