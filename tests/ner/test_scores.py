"""How predictions are scored: by tokens, as spaCy does, and by characters."""

import random

import pytest
from spacy.language import Language
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_flat.ner.scores import SeenScorer, score_entities, score_seen

from .conftest import GOLD, TEXTS, char_example, examples_of, spans_of


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


Entities = list[tuple[int, int, str]]


def an_example(text: str, gold: Entities, found: Entities) -> Example:
    docs = [Doc(Vocab(), words=list(text), spaces=[False] * len(text)) for _ in range(2)]
    for doc, spans in zip(docs, (found, gold), strict=True):
        doc.set_ents([doc.char_span(*span) for span in spans])
    return Example(*docs)


def random_entities(chance: random.Random, length: int) -> Entities:
    edges = sorted(chance.sample(range(length + 1), 6))
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(start, end, chance.choice("AB")) for start, end in pairs if chance.random() < 0.9]


def test_seen_and_unseen_as_counted_one_by_one() -> None:
    chance = random.Random(1)
    known = {"甲", "乙", "甲乙", "乙甲", "甲甲"}
    cases = []
    for _ in range(200):
        text = "".join(chance.choice("甲乙") for _ in range(8))
        gold = random_entities(chance, 8)
        found = gold if chance.random() < 0.3 else random_entities(chance, 8)
        cases.append((text, gold, found))
    scores = score_seen([an_example(*case) for case in cases], known)
    for name, wanted in (("seen", True), ("unseen", False)):
        n_gold = n_found = n_right = 0
        for text, gold, found in cases:
            for start, end, _ in gold:
                n_gold += (text[start:end] in known) is wanted
            for start, end, label in found:
                if (text[start:end] in known) is wanted:
                    n_found += 1
                    n_right += (start, end, label) in gold
        assert n_right > 20
        assert scores[f"{name}_p"] == pytest.approx(n_right / n_found)
        assert scores[f"{name}_r"] == pytest.approx(n_right / n_gold)
        assert scores[f"{name}_f"] == pytest.approx(2 * n_right / (n_found + n_gold))
        assert scores[f"{name}_entities"] == n_gold


def test_what_is_not_annotated_is_neither_seen_nor_unseen() -> None:
    example = an_example("重庆上海", [(0, 2, "LOC")], [(0, 2, "LOC"), (2, 4, "ORG")])
    assert score_seen([example], set())["unseen_p"] == 0.5
    assert score_seen([example], set(), ["ORG"])["unseen_p"] == 1.0


def test_evaluate_with_the_scorer_of_seen_names(trained: Language) -> None:
    """It scores the Docs that were predicted, which `nlp.evaluate` keeps to itself."""
    examples = examples_of(trained)
    surfaces = {ent.text for example in examples for ent in example.reference.ents}
    (name, *others) = sorted(surfaces)
    scores = trained.evaluate(examples, scorer=SeenScorer(trained, {name}))
    assert others
    assert scores["seen_f"] == scores["unseen_f"] == scores["ents_f"] == 1.0
    assert scores["seen_entities"] + scores["unseen_entities"] >= len(surfaces)
