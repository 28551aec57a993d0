"""The command's arguments."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from spacy_flat.cli import app

from .conftest import Annotate, write_lines


@pytest.mark.parametrize("missing", ["ray", "pyarrow", "pandas"])
def test_without_the_extra(annotate: Annotate, monkeypatch: Any, missing: str) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        sys.modules["spacy_flat.cli.annotate"],
        "find_spec",
        lambda name: None if name == missing else find(name),
    )
    output = " ".join(annotate("a.jsonl").output.split())
    assert f"[F460] Annotating at scale needs {missing}. Run: pip install 'spacy-flat[" in output


def test_commands_do_not_import_it() -> None:
    code = "import spacy_flat.cli, sys; print({'ray', 'pyarrow', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nothing.jsonl"], "[F461] nothing.jsonl: no such file or folder"),
        (["a.doc"], "[F462] a.doc: its name does not say"),
        (["empty"], "[F466] empty: no file of texts here"),
        (["a.jsonl", "--attribute", "length:number"], "[F469] length: there is no type 'number'"),
        (["a.jsonl", "--attribute", "text"], "[F479] There is a column 'text' already"),
        (["a.jsonl", *["--attribute", "length"] * 2], "[F479] There is a column 'length'"),
        (["a.jsonl", "--attribute", "unheard"], "[F468] There is no doc._.unheard"),
        (["a.jsonl", "--attribute", "length", "--format", "spacy"], "[F174] --attribute"),
    ],
)
def test_mistakes(annotate: Annotate, arguments: list[str], code: str) -> None:
    write_lines(Path("a.jsonl"), [{"text": "好"}])
    Path("a.doc").touch()
    Path("empty").mkdir()
    result = annotate(*arguments)
    assert result.exit_code == 1
    assert code in " ".join(result.output.split())


def test_no_pipeline(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": "好"}])
    words = ["annotate", "no_pipeline", str(path), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert "[F467] 'no_pipeline' is no installed pipeline" in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()
