"""Texts of every kind through `flat_ner`, one by one and in batches."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.language import Language

from .conftest import GOLD, TEXTS, Copy, check_spans, entities, flat, found, marked

CONTEXT = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def test_learns_ten_sentences_by_heart(trained: Language) -> None:
    assert found(trained) == GOLD
    assert [entities(doc) for doc in trained.pipe(TEXTS)] == [marked(text) for text in TEXTS]


@CONTEXT
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text(trained: Language, text: str) -> None:
    doc = trained(text)
    assert doc.text == text
    check_spans(doc)


def test_long_texts_are_cut_and_put_together(trained: Language, copy_of: Copy) -> None:
    """No two of the sentences fit into a segment: their entities are found as one by one."""
    nlp = copy_of(trained, max_length=12, overlap=6)
    sentences = [text for text in TEXTS if text[-1] in "。！"] * 20
    doc = nlp("".join(sentences))
    assert entities(doc) == [entity for text in sentences for entity in marked(text)]


def test_the_model_only_predicts(trained: Language) -> None:
    with pytest.raises(NotImplementedError, match="F209"):
        flat(trained).model.begin_update([trained.make_doc("上海")])


def mixed_texts() -> st.SearchStrategy[list[str]]:
    one = st.sampled_from([*TEXTS, "", " ", "😀"])
    return st.lists(st.one_of(one, st.lists(one, max_size=4).map("".join)), max_size=12)


@CONTEXT
@given(texts=mixed_texts(), batch_size=st.integers(1, 12), nodes=st.integers(1, 300))
def test_pipe_is_one_by_one(
    trained: Language, texts: list[str], batch_size: int, nodes: int
) -> None:
    encoder = flat(trained).model.attrs["featuriser"]
    before = encoder.options
    expected = [(entities(doc), doc._.char_ents) for doc in map(trained, texts)]
    encoder.options = replace(before, batch_size=nodes)
    try:
        docs = list(trained.pipe(texts, batch_size=batch_size))
    finally:
        encoder.options = before
    assert [(entities(doc), doc._.char_ents) for doc in docs] == expected
    assert [doc.text for doc in docs] == texts
