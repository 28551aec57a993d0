"""The command's arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from commands import failure

from spacy_flat.annotate.run import run
from spacy_flat.annotate.settings import Settings

from .conftest import Annotate, table, write_lines


def test_without_pyarrow(annotate: Annotate, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "[F030]" in annotate("a.jsonl", code=1)


@pytest.mark.parametrize("missing", ["ray", "pandas"])
def test_without_ray(annotate: Annotate, monkeypatch: Any, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    Path("a.txt").write_text("重庆\n", "utf-8")
    assert "[F030]" in annotate("a.txt", "--actors", "2", code=1)
    assert "[F030]" in annotate("a.txt", "--address", "auto", code=1)
    annotate("a.txt", "--actors", "0")
    assert table()["a.txt:1"]["entities"][0]["text"] == "重庆"


def test_the_total_counts_rows(pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\n1\n \n\xef\xbb\xbf\n2\n3\n\n")
    told: list[tuple[int, int]] = []
    settings, watch = Settings(str(pipeline)), lambda *counts: told.append(counts)
    for _ in range(2):
        run([str(tmp_path / "a.txt")], str(tmp_path / "out"), settings, None, 4, watch)
    assert told == [(0, 3), (1, 3), (3, 3), (3, 3)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nothing.jsonl"], "[F001] nothing.jsonl: no such file or folder"),
        (["a.doc"], "[F462] a.doc: unknown file type"),
        (["empty"], "[F466] empty: no text files found"),
        (["a.jsonl", "--attribute", "length:number"], "[F118] There is no type 'number'"),
        (["a.jsonl", "--attribute", "text"], "[F479] There is already a column 'text'"),
        (["a.jsonl", *["--attribute", "length"] * 2], "[F479] There is already a column 'length'"),
        (["a.jsonl", "--attribute", "unheard"], "[F468] There is no doc._.unheard"),
        (["a.jsonl", "--attribute", "length", "--format", "spacy"], "[F174] --attribute"),
    ],
)
def test_mistakes(annotate: Annotate, arguments: list[str], code: str) -> None:
    write_lines(Path("a.jsonl"), [{"text": "好"}])
    Path("a.doc").touch()
    Path("empty").mkdir()
    assert code in annotate(*arguments, code=1)


def test_no_pipeline(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": "好"}])
    words = ["annotate", "no_pipeline", str(path), "--out", str(tmp_path / "out")]
    assert "[F467] 'no_pipeline' is neither an installed pipeline" in failure(*words)
    assert not (tmp_path / "out").exists()
