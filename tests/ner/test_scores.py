"""How predictions are scored: by tokens, as spaCy does, and by characters."""

import pytest
from spacy.language import Language
from spacy.scorer import get_ner_prf
from spacy.training import Example

from spacy_flat.ner.scores import score_entities

from .conftest import GOLD, TEXTS, char_example, spans_of


def scored(nlp: Language, text: str, gold: list[tuple[int, int, str]]) -> Example:
    """An example whose predicted Doc is what the pipeline makes of the text."""
    example = char_example(nlp, text, gold)
    return Example(nlp(text), example.reference)


def test_scores_are_spacys(trained: Language) -> None:
    examples = [scored(trained, *pair) for pair in zip(TEXTS, GOLD, strict=True)]
    wrong = spans_of(TEXTS[0], ["ORG 人和", "PER 药店", "LOC 重庆"])
    examples.append(scored(trained, TEXTS[0], wrong))
    scores = score_entities(examples)
    assert {**scores, **get_ner_prf(examples)} == scores
    assert scores["ents_p"] == scores["chars_p"] == pytest.approx(17 / 18)
    assert scores["ents_r"] == scores["chars_r"] == pytest.approx(17 / 19)
    assert set(scores["ents_per_type"]) == {"LOC", "ORG", "PER"}


def test_characters_score_apart_from_tokens(jieba_trained: Language) -> None:
    """江大桥 in the token 长江大桥: found exactly, though no tokens are it."""
    scores = score_entities([scored(jieba_trained, TEXTS[2], GOLD[2])])
    assert scores["chars_f"] == 1.0
    assert scores["ents_f"] == 0.0
    assert score_entities([scored(jieba_trained, TEXTS[1], GOLD[1])])["ents_f"] == 1.0


def test_nothing_to_score(trained: Language) -> None:
    silent = Example(trained("上海"), trained.make_doc("上海"))
    for examples in ([], [silent]):
        scores = score_entities(examples)
        assert set(scores.values()) == {None}
        assert {"ents_f", "chars_p", "chars_r", "chars_f", "ents_per_type"} <= set(scores)
    none_found = score_entities([scored(trained, "今天没有新闻。", [])])
    assert none_found["chars_f"] is None
    missed = score_entities([scored(trained, "今天没有新闻。", [(0, 2, "DATE")])])
    assert missed["chars_f"] == missed["ents_f"] == 0.0
