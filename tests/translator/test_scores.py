"""BLEU and chrF are sacrebleu's."""

import pytest
import sacrebleu
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_flat.translator.scores import make_scorer, score_translations

NLP = spacy.blank("zh")


def made(translation: str | None) -> Doc:
    doc = NLP("他来了。")
    doc._.translation = translation
    return doc


def examples(*pairs: tuple[str | None, str | None]) -> list[Example]:
    return [Example(made(found), made(gold)) for found, gold in pairs]


def test_scores_are_sacrebleus_of_the_whole_corpus() -> None:
    found = ["He came to see me yesterday.", "She is at home now , I think"]
    gold = ["He came to see us yesterday.", "I think she is at home now."]
    scores = score_translations(examples(*zip(found, gold, strict=True), ("not scored", None)))
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(found, [gold]).score / 100)
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(found, [gold]).score / 100)
    assert 0.1 < scores["bleu"] < 0.9
    assert "tok:13a" in scores["bleu_signature"]
    assert f"version:{sacrebleu.__version__}" in scores["chrf_signature"]


def test_tokens_can_be_cut_otherwise() -> None:
    same = examples(("他昨天来了", "他昨天来了"))
    assert make_scorer()(same)["bleu"] < 0.1
    assert make_scorer("zh")(same)["bleu"] == pytest.approx(1)
