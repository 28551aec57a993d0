"""`python -m spacy flat evaluate`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from typer.testing import CliRunner, Result

from spacy_flat.cli import app

MODEL = "training/zh_flat_demo/model-best"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


def test_dev_is_scored_where_there_is_no_test_part(mini_project: Path, tmp_path: Path) -> None:
    shutil.copy(mini_project / "corpus/demo/dev.spacy", tmp_path)
    result = run(mini_project / MODEL, tmp_path, "--output", tmp_path / "scores/metrics.json")
    assert result.exit_code == 0
    output = " ".join(result.output.split())
    assert "on dev" in output
    assert "the score is a little too high" in output
    assert "the score is uncertain" in output  # ten sentences
    metrics = json.loads((tmp_path / "scores/metrics.json").read_text("utf-8"))
    assert (metrics["part"], metrics["sentences"]) == ("dev", 10)
    assert metrics["entities"] > 0
    assert {"ents_f", "ents_per_type", "chars_f"} <= metrics.keys()


def test_a_folder_with_nothing_to_score_on(mini_project: Path, tmp_path: Path) -> None:
    result = run(mini_project / MODEL, tmp_path, "--output", tmp_path / "metrics.json")
    assert result.exit_code == 1
    assert "[F132]" in result.output
    assert not (tmp_path / "metrics.json").exists()


def test_no_pipeline(mini_project: Path, tmp_path: Path) -> None:
    result = run(tmp_path / "none", mini_project / "corpus/demo", "--output", tmp_path / "m.json")
    assert result.exit_code == 1
    assert "E050" in result.output
