"""What the commands show of a pipeline that compares pairs of texts."""

from pathlib import Path

import pytest
import spacy
from commands import printed
from commands import said as run
from spacy.language import Language
from spacy.tokens import Doc

from spacy_flat.similarity.pairs import pair_of


class Comparer:
    """Takes texts of the same length for the same."""

    def __call__(self, doc: Doc) -> Doc:
        if pair := pair_of(doc):
            same = float(len(pair[0]) == len(pair[1]))
            doc.cats = {"different": 1 - same, "same": same}
        return doc

    def predict_pairs(self, pairs: object) -> None: ...


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


def test_a_picture_of_what_is_aligned(pairs_pipeline: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.svg"
    run("show", pairs_pipeline, "怎么退款？\t如何退款", "--alignment", out)
    assert "block 1" in out.read_text("utf-8")
    assert "[F146]" in run("show", pairs_pipeline, "a\tb", "--alignment", "out.png", code=1)
