"""Scores of pairs, beside scikit-learn's and by hand."""

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_flat.similarity.scores import gold_of, score_pairs

VOCAB = Vocab()


def example(gold: dict[str, float], found: dict[str, float]) -> Example:
    docs = Doc(VOCAB, words=["a"]), Doc(VOCAB, words=["a"])
    for doc, cats in zip(docs, (found, gold), strict=True):
        doc.cats = cats
    return Example(*docs)


def binary(rows: list[tuple[int, float]]) -> list[Example]:
    return [
        example({"no": 1.0 - gold, "yes": float(gold)}, {"no": 1 - found, "yes": found})
        for gold, found in rows
    ]


ROWS = [(1, 0.9), (1, 0.4), (0, 0.6), (0, 0.1), (0, 0.2), (1, 0.7), (0, 0.4)]


def test_two_classes() -> None:
    scores = score_pairs(binary(ROWS), labels=["no", "yes"], positive="yes")
    assert scores["pairs_acc"] == scores["pairs_score"] == pytest.approx(5 / 7)
    assert (scores["pairs_p"], scores["pairs_r"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert scores["pairs_f"] == pytest.approx(2 / 3)
    # Of the 12 pairs of a positive and a negative 10 are in order, and one is a tie.
    assert scores["pairs_auc"] == pytest.approx(10.5 / 12)


def test_threshold() -> None:
    scores = score_pairs(binary(ROWS), labels=["no", "yes"], positive="yes", threshold=0.4)
    assert (scores["pairs_p"], scores["pairs_r"]) == (pytest.approx(3 / 5), 1.0)
    assert scores["pairs_acc"] == pytest.approx(5 / 7)
    of_no = score_pairs(binary(ROWS), labels=["no", "yes"], positive="no", threshold=0.7)
    assert (of_no["pairs_p"], of_no["pairs_r"]) == (1.0, pytest.approx(2 / 4))


def test_unknown_examples_are_left_out() -> None:
    examples = [*binary(ROWS), example({}, {"no": 0.1, "yes": 0.9}), example({"topic": 1.0}, {})]
    scores = score_pairs(examples, labels=["no", "yes"], positive="yes")
    assert scores["pairs_acc"] == pytest.approx(5 / 7)
    assert score_pairs([], labels=["no", "yes"], positive="yes")["pairs_score"] is None
    one_class = score_pairs(binary([(1, 0.9)]), labels=["no", "yes"], positive="yes")
    assert one_class["pairs_auc"] is None


@pytest.mark.parametrize(
    ("cats", "wanted"),
    [
        ({"yes": 1.0}, 1),
        ({"yes": 0.3}, 0),
        ({"no": 0.5}, 0),
        ({"yes": float("nan")}, None),
        ({"no": 0.3, "yes": 0.2}, 0),
        ({"no": 0.0, "yes": 0.0}, None),
        ({"topic": 1.0}, None),
        ({}, None),
    ],
)
def test_some_labels_say_enough(cats: dict[str, float], wanted: int | None) -> None:
    assert gold_of(example(cats, {}), ["no", "yes"]) == wanted


def test_regression() -> None:
    gold, found = [1.0, 2.0, 2.0, 5.0], [0.1, 0.3, 0.2, 0.9]
    examples = [
        example({"similarity": g}, {"similarity": f}) for g, f in zip(gold, found, strict=True)
    ]
    scores = score_pairs(examples, labels=["similarity"])
    expected = np.corrcoef([1, 2.5, 2.5, 4], [1, 3, 2, 4])[0, 1]
    assert scores["pairs_spearman"] == scores["pairs_score"] == pytest.approx(expected)
    constant = score_pairs(examples[1:3], labels=["similarity"])
    assert constant["pairs_spearman"] is None
    assert score_pairs([], labels=["similarity"])["pairs_score"] is None
