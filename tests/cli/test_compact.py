"""`python -m spacy flat compact`."""

import json
from functools import partial
from pathlib import Path

import commands
import pytest
import spacy
from commands import printed
from spacy.training import Example
from spacy.util import load_config

from spacy_flat.compress.compactor import size_of_folder

run = partial(printed, "compact")
failure = partial(commands.failure, "compact")

MODEL = "training/zh_flat_demo/model-best"
TRAIN = "corpus/demo/train.spacy"
DEV = "corpus/demo/dev.spacy"


def test_a_pipeline_is_made_compact(mini_project: Path, tmp_path: Path) -> None:
    out = tmp_path / "compact"
    options = ["--text", mini_project / TRAIN, "--min-count", 2, "--dev", mini_project / DEV]
    output = run(mini_project / MODEL, out, *options)
    rows = [line.split() for line in output.splitlines()]
    (size,) = (row for row in rows if row[:1] == ["MB"])
    assert float(size[2]) < float(size[1])
    (score,) = (row for row in rows if row[:1] == ["ents_f"])
    nlp = spacy.load(out)
    assert nlp.meta["performance"]["ents_f"] == pytest.approx(float(score[-1]), abs=1e-4)
    assert nlp("重庆的药店").text == "重庆的药店"
    # Neither where the training's files lay nor what was read meanwhile.
    assert set(load_config(out / "config.cfg")["paths"].values()) == {None}
    before = json.loads((mini_project / MODEL / "vocab/strings.json").read_text("utf-8"))
    assert json.loads((out / "vocab/strings.json").read_text("utf-8")) == before


def test_as_many_rows_as_fit(mini_project: Path, tmp_path: Path) -> None:
    sizes = []
    for limit in (65, 60):
        out = tmp_path / str(limit)
        options = ["--text", mini_project / TRAIN, "--max-size", limit / 1000]
        run(mini_project / MODEL, out, *options)
        sizes.append(size_of_folder(out))
        assert sizes[-1] <= 1000 * limit
    assert sizes[0] > sizes[1]


def test_without_rows_to_drop(tmp_path: Path) -> None:
    """Texts are not needed: it fits, or it does not."""
    nlp = spacy.blank("zh")
    nlp.add_pipe("char_generator")
    nlp.initialize(lambda: [Example(nlp.make_doc("床前明月光"), nlp.make_doc("床前明月光"))])
    nlp.to_disk(tmp_path / "trained")
    run(tmp_path / "trained", tmp_path / "compact", "--max-size", 50, "--min-count", 2)
    assert spacy.load(tmp_path / "compact")("床前")._.perplexity
    assert "[F372]" in failure(tmp_path / "trained", tmp_path / "none", "--max-size", 0.001)


def test_what_cannot_be_done(mini_project: Path, tmp_path: Path) -> None:
    model, text = mini_project / MODEL, mini_project / TRAIN
    assert "[F371]" in failure(model, tmp_path / "out", "--min-count", 2)
    assert "[F371]" in failure(model, tmp_path / "out", "--max-size", 1)
    assert "[F372]" in failure(model, tmp_path / "out", "--text", text, "--max-size", 0.001)
    assert "[F001]" in failure(model, tmp_path / "out", "--text", tmp_path / "none.txt")
    assert not list(tmp_path.iterdir())
    (tmp_path / "blank.txt").write_text("\n\n", "utf-8")
    blank = ["--text", tmp_path / "blank.txt", "--min-count", 1]
    assert "[F371]" in failure(model, tmp_path / "out", *blank)
    assert not (tmp_path / "out").exists()


def test_paths_of_components_are_kept(mini_project: Path, tmp_path: Path) -> None:
    """A transformer's name, for example: the pipeline could not be loaded without."""
    nlp = spacy.load(mini_project / MODEL)
    nlp.add_pipe("sentencizer")
    nlp.config["paths"].update({"marks": "。", "train": "corpus/train.spacy"})
    nlp.to_disk(tmp_path / "with")
    config = load_config(tmp_path / "with/config.cfg")
    config["components"]["sentencizer"]["punct_chars"] = ["${paths.marks}"]
    config.to_disk(tmp_path / "with/config.cfg")
    run(tmp_path / "with", tmp_path / "out")
    paths = load_config(tmp_path / "out/config.cfg")["paths"]
    assert (paths["marks"], paths["train"]) == ("。", None)
    spacy.load(tmp_path / "out")


def test_what_is_there_is_kept(mini_project: Path, tmp_path: Path) -> None:
    model = mini_project / MODEL
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/mine.txt").write_text("mine", "utf-8")
    assert "[F148]" in failure(model, tmp_path / "notes")
    assert (tmp_path / "notes/mine.txt").read_text("utf-8") == "mine"
    assert "[F375]" in failure(model, model)


def test_a_compact_pipeline_is_replaced(mini_project: Path, tmp_path: Path) -> None:
    for bits in (16, 8):
        run(mini_project / MODEL, tmp_path / "out", "--bits", bits)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    network = spacy.load(tmp_path / "out").get_pipe("flat_ner").model.shims[0].module  # type: ignore[attr-defined]
    assert network.chars.pretrained.element_size() == 1
