"""What the commands show of a pipeline that compares pairs of texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import spacy
from commands import printed
from commands import said as run
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_flat.corpora.pairs import make_pair
from spacy_flat.similarity.pairs import pair_of


class Comparer:
    """Takes texts of the same length for the same."""

    def __call__(self, doc: Doc) -> Doc:
        if pair := pair_of(doc):
            same = float(len(pair[0]) == len(pair[1]))
            doc.cats = {"different": 1 - same, "same": same}
        return doc

    def predict_pairs(self, pairs: object) -> None: ...

    def score(self, examples: Iterable[Example], **_: Any) -> dict[str, Any]:
        prf = {"p": 0.5, "r": 0.25, "f": 1 / 3}
        return {"pairs_acc": 0.75, "pairs_auc": None, "pairs_per_label": {"same": prf}}


@Language.factory("stub_comparer", assigns=["doc.cats"])
def make_comparer(nlp: Language, name: str) -> Comparer:
    return Comparer()


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nlp = spacy.blank("zh")
    nlp.add_pipe("stub_comparer")
    path = tmp_path_factory.mktemp("pairs") / "pipeline"
    nlp.to_disk(path)
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    cats = {"different": 0.0, "same": 1.0}
    docs = [make_pair(Vocab(), "甲乙", "丙丁", cats), make_pair(Vocab(), "甲", "乙丙", cats)]
    DocBin(docs=docs).to_disk(tmp_path / "test.spacy")
    return tmp_path


def test_show_has_the_labels_of_pairs(pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "examples.txt").write_text("甲乙 \t丙丁\n甲\t乙丙\n", "utf-8")
    output = run("show", pipeline, "--file", tmp_path / "examples.txt")
    first, second = output.split("different 0.0000")
    assert "甲乙 | 丙丁" in first
    assert "same 1.0000" in first
    assert "甲 | 乙丙" in second
    assert "different 1.0000 same 0.0000" in second
    assert "no entities" not in output


@pytest.mark.parametrize("text", ["甲乙", "甲\t", "甲\t乙\t丙"])
def test_show_takes_other_texts_as_they_are(pipeline: Path, text: str) -> None:
    output = run("show", pipeline, text)
    assert "no pair: put one TAB between two texts" in output
    assert "same" not in output


def test_a_tab_is_text_where_nothing_compares(tmp_path: Path) -> None:
    spacy.blank("zh").to_disk(tmp_path / "blank")
    assert "甲乙\t丙丁" in printed("show", tmp_path / "blank", "甲乙\t丙丁")


def test_evaluate_speaks_of_pairs(pipeline: Path, corpus: Path) -> None:
    output = run("evaluate", pipeline, corpus, "--output", corpus / "metrics.json")
    assert "test.spacy: 2 pairs" in output
    assert "AUC – " in output
    assert "same 50.00 25.00 33.33" in output
    assert "accuracy on test: 0.7500" in output
    assert "Only 2 pairs scored" in output
    assert "sentence" not in output
    metrics = json.loads((corpus / "metrics.json").read_text("utf-8"))
    assert (metrics["part"], metrics["pairs"], metrics["pairs_acc"]) == ("test", 2, 0.75)
    assert "sentences" not in metrics


def test_evaluate_has_no_score_of_pairs_with_other_labels(corpus: Path) -> None:
    nlp = spacy.blank("zh")
    nlp.add_pipe("re2_similarity")
    cats = {"否": 0.0, "是": 1.0}
    example = Example.from_dict(nlp.make_doc("甲\x1f乙"), {"cats": cats})
    nlp.initialize(lambda: [example])
    nlp.to_disk(corpus / "pipeline")
    with pytest.warns(UserWarning, match="W320"):
        output = run("evaluate", corpus / "pipeline", corpus)
    assert "accuracy on test: –" in output
    assert "uncertain" not in output


def test_the_page_of_errors_is_one_of_entities(pipeline: Path, corpus: Path) -> None:
    message = run("evaluate", pipeline, corpus, "--errors", corpus / "errors.html", code=1)
    assert "[F158]" in message
    assert "stub_comparer" in message
    assert not (corpus / "errors.html").exists()
