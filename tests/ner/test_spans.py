"""Entities between the characters of a text and the tokens of a Doc."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_flat.ner.spans import Annotation, existing_entities, gold_annotation, set_entities
from spacy_flat.text.spans import EntitySpan

VOCAB = Vocab()

words = st.lists(st.text(alphabet="中国ab😀\n", min_size=1, max_size=4), max_size=12)


def doc_of(*tokens: str) -> Doc:
    return Doc(VOCAB, list(tokens), [False] * len(tokens))


@given(words, st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), max_size=6))
def test_expanded_entities_hold_what_was_found(
    tokens: list[str], gaps: list[tuple[int, int]]
) -> None:
    doc = doc_of("我", *tokens)
    spans = []
    end = 0
    for gap, width in gaps:
        start, end = end + gap, end + gap + width
        if end <= len(doc.text):
            spans.append(EntitySpan(start, end, "LOC"))
    set_entities(doc, spans, overwrite=True)
    for ent in doc.ents:
        touched = [
            [t.i for t in doc if t.idx < span.end and span.start < t.idx + len(t)]
            for span in spans
            if span.start < ent.end_char and ent.start_char < span.end
        ]
        assert list(range(ent.start, ent.end)) in touched


def test_tokens_outside_of_entities_are_not_blocked() -> None:
    doc = doc_of(*"在重庆和上海")
    doc.set_ents([Span(doc, 1, 3, "LOC")], blocked=[doc[3:4]], default="outside")
    assert [[span.text for span in part] for part in existing_entities(doc)] == [["重庆"], ["和"]]


class TestGold:
    @pytest.mark.parametrize("text", ["去new york找王芳", " 去 New\tYork 找 王芳 "])
    def test_other_white_space_and_case(self, text: str) -> None:
        """spaCy puts spaces between words that come without them."""
        words, tags = ["去", "New", "York", "找", "王芳"], ["O", "B-LOC", "L-LOC", "O", "U-PER"]
        doc = spacy.blank("zh").make_doc(text)
        found = gold_annotation(Example.from_dict(doc, {"words": words, "entities": tags}))
        spelled = [text[start:end].split() for start, end, _ in found.spans]
        assert spelled in ([["new", "york"], ["王芳"]], [["New", "York"], ["王芳"]])

    def test_other_text(self) -> None:
        with pytest.raises(ValueError, match=r"F304.*New York"):
            gold_annotation(Example(doc_of(*"去 Old York"), doc_of(*"去 New York")))

    def test_tokens_without_annotation_are_unknown(self) -> None:
        gold = doc_of(*"在重庆和上海开会")
        gold.set_ents([Span(gold, 1, 3, "LOC")], missing=[gold[4:6], gold[7:8]], default="outside")
        found = gold_annotation(Example(doc_of(*"在重庆和上海开会"), gold))
        assert found[:2] == ([(1, 3, "LOC")], [(4, 6, ""), (7, 8, "")])

    def test_misaligned_annotation_is_unknown(self) -> None:
        """As spaCy makes it of entities that cut the tokens."""
        doc = doc_of("南京市", "长江", "来了")
        example = Example.from_dict(doc, {"entities": [(0, 2, "LOC"), (3, 5, "LOC")]})
        assert gold_annotation(example)[:2] == ([(3, 5, "LOC")], [(0, 3, "")])

    def test_stretches_and_labels_named_as_unknown(self) -> None:
        gold = doc_of(*"在重庆和上海")
        gold.set_ents([Span(gold, 1, 3, "LOC")])
        gold.spans["unknown"] = [gold[3:5], Span(gold, 0, 6, "PER")]
        found = gold_annotation(Example(doc_of(*"在重庆和上海"), gold), ["ORG"])
        assert found.spans == [(1, 3, "LOC")]
        assert found.unknown == [(3, 5, ""), (0, 6, "PER"), (0, 6, "ORG")]

    def test_entities_of_unknown_labels_are_not_judged(self) -> None:
        known = Annotation([EntitySpan(0, 2, "LOC")], [EntitySpan(0, 9, "PER")])
        found = [EntitySpan(0, 2, "LOC"), EntitySpan(3, 5, "LOC"), EntitySpan(6, 8, "PER")]
        assert set(known.judged(found, 9)) == set(found[:2])

    def test_known_entities_among_unknown_text_are_judged(self) -> None:
        known = Annotation([EntitySpan(0, 2, "LOC")], [EntitySpan(0, 9, "")])
        found = [EntitySpan(0, 2, "LOC"), EntitySpan(3, 5, "LOC")]
        assert set(known.judged(found, 9)) == {(0, 2, "LOC")}
        assert not known.is_of_raw_text("在重庆" * 3)
        assert known._replace(spans=[]).is_of_raw_text("在重庆" * 3)

    def test_of_dropped_labels_nothing_is_unknown(self) -> None:
        unknown = [EntitySpan(0, 9, label) for label in ("", "PER", "GPE")]
        mapped = Annotation([], unknown).mapped({"PER": "", "GPE": "LOC"})
        assert mapped.unknown == [(0, 9, ""), (0, 9, "LOC")]
