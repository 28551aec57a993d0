"""`python -m spacy flat calibrate`."""

from functools import partial
from pathlib import Path

import commands
import pytest
import spacy
from commands import said
from similarity.conftest import PAIRS, LabelledPair, examples_of, re2
from spacy.language import Language
from spacy.tokens import DocBin

run = partial(said, "calibrate")
failure = partial(commands.failure, "calibrate")


UNSURE = [*PAIRS, ("怎么退款？", "如何退款", "different")]


def write_pairs(path: Path, pairs: list[LabelledPair]) -> Path:
    examples = examples_of(spacy.blank("zh"), pairs)
    DocBin(docs=[example.reference for example in examples]).to_disk(path)
    return path


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "dev.spacy", UNSURE)


def test_a_calibrated_copy(pairs_pipeline: Path, dev: Path, tmp_path: Path) -> None:
    output = tmp_path / "new/calibrated"
    shown = run(pairs_pipeline, dev, output)
    nlp, copy = spacy.load(pairs_pipeline), spacy.load(output)
    report = re2(nlp).calibrate(examples_of(nlp, UNSURE))
    assert re2(copy).temperature == pytest.approx(report.temperature_after, rel=1e-12)
    # The config says so, and any other value counts.
    assert copy.config["components"]["re2_similarity"]["temperature"] == re2(copy).temperature
    other = spacy.load(output, config={"components.re2_similarity.temperature": 1.0})
    assert re2(other).temperature == 1.0
    for name, before, after in (
        ("temperature", report.temperature_before, report.temperature_after),
        ("expected calibration error", report.ece_before, report.ece_after),
        ("negative log-likelihood", report.nll_before, report.nll_after),
    ):
        assert f"{name} {before:.4f} {after:.4f}" in shown
    assert "Only 11 pairs" in shown
    # The pipeline itself is as it was, and nothing else is left.
    assert re2(spacy.load(pairs_pipeline)).temperature == 1.0
    assert [path.name for path in output.parent.iterdir()] == ["calibrated"]


def test_whole_or_not_at_all(
    pairs_pipeline: Path, dev: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_disk = Language.to_disk

    def full(nlp: Language, path: Path) -> None:
        to_disk(nlp, path)
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Language, "to_disk", full)
    assert "No space left" in failure(pairs_pipeline, dev, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["dev.spacy"]


def test_what_cannot_be_calibrated(pairs_pipeline: Path, dev: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    spacy.blank("zh").to_disk(tmp_path / "blank")
    assert "[F136]" in failure(tmp_path / "blank", dev, output)
    assert "[F375]" in failure(pairs_pipeline, dev, pairs_pipeline)
    assert "[F001]" in failure(pairs_pipeline, tmp_path / "none.spacy", output)
    nlp = spacy.load(pairs_pipeline)
    same = [doc for doc in DocBin().from_disk(dev).get_docs(nlp.vocab) if doc.cats["same"]]
    for docs in ([nlp.make_doc("没有第二个")], same):  # with one class, all would become it
        DocBin(docs=docs).to_disk(dev)
        assert "[F329]" in failure(pairs_pipeline, dev, output)
    assert not output.exists()
