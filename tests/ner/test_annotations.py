"""What `flat_ner` writes into a Doc: `doc.ents` and `doc._.char_ents`."""

import warnings

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_flat.ner.spans import set_entities
from spacy_flat.text.spans import EntitySpan

from .conftest import GOLD, TEXTS, Copy, add_flat, blank, entities, found, marked


def test_exact_characters_go_with_parts_of_a_doc(jieba_trained: Language) -> None:
    """They are right in a Span made a Doc, in Docs put together, and in a copy by way of bytes."""
    text = "南京市长江大桥来了。"
    doc = jieba_trained(text)
    assert doc._.char_ents == GOLD[2]
    assert doc[1:].as_doc(copy_user_data=True)._.char_ents == [(1, 4, "PER")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = Doc.from_docs([doc, doc], ensure_whitespace=False)
    n = len(text)
    assert both._.char_ents == [*GOLD[2], (n, n + 2, "LOC"), (n + 4, n + 7, "PER")]
    docs = DocBin(docs=[doc], store_user_data=True).get_docs(jieba_trained.vocab)
    assert next(docs)._.char_ents == GOLD[2]


def test_exact_characters_of_one_entity_are_not_anothers(jieba_trained: Language) -> None:
    doc = jieba_trained("南京市长江大桥来了。")
    doc.ents = [Span(doc, 0, 1, "FAC"), Span(doc, 1, 2, "PER")]  # type: ignore[assignment]
    assert doc._.char_ents == [(0, 3, "FAC"), (4, 7, "PER")]
    for end in (2, 3):  # also of one with the same label, which stands exactly on its tokens
        set_entities(doc, [EntitySpan(0, end, "LOC")], overwrite=True)
        assert doc._.char_ents == [(0, end, "LOC")]


def test_tokens_longer_than_chinese_words_trigger_a_warning(
    trained: Language, copy_of: Copy
) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("flat_ner", source=copy_of(trained))
    with pytest.warns(UserWarning, match=r"W304.*flat_ner.*9\.00 characters"):
        nlp("王小明昨天去了上海")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("王小明昨天去了上海")


@pytest.mark.parametrize("mark", ["\u200b", "\u2060", "\ufeff", "\u00ad"])
def test_characters_of_zero_width_within_names(mark: str, trained: Language) -> None:
    doc = trained(f"{mark}王小{mark}明昨{mark}天去了上{mark}海{mark}。")
    assert [doc.text[start:end] for start, end, _ in doc._.char_ents] == [
        f"王小{mark}明",
        f"上{mark}海",
    ]


def test_without_a_network_there_is_no_lexicon() -> None:
    with pytest.raises(ValueError, match=r"F308.*'flat_ner'"):
        _ = add_flat(blank()).lexicon  # type: ignore[attr-defined]


def test_learns_ten_sentences_by_heart(trained: Language) -> None:
    assert found(trained) == GOLD
    assert [entities(doc) for doc in trained.pipe(TEXTS)] == [marked(text) for text in TEXTS]


def test_long_texts_are_cut_and_put_together(trained: Language, copy_of: Copy) -> None:
    """No two of the sentences fit into a segment: their entities are found as one by one."""
    nlp = copy_of(trained, max_length=12)
    sentences = [text for text in TEXTS if text[-1] in "。！"] * 20
    doc = nlp("".join(sentences))
    assert entities(doc) == [entity for text in sentences for entity in marked(text)]
