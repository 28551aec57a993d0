"""A run that was stopped goes on; one that is something else is not mixed with it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from spacy_flat.annotate.actor import Annotator
from spacy_flat.annotate.addresses import Folder
from spacy_flat.annotate.settings import Settings
from spacy_flat.util.files import locked

from .conftest import CODE, Annotate, failed, make_pipeline, table, write_lines


@pytest.fixture
def stopped(annotate: Annotate) -> dict[str, int]:
    """A run of five shards, of which two are not finished. When the others were written."""
    records = [{"id": f"r{n}", "text": "坏" if n in (3, 7) else "好"} for n in range(10)]
    write_lines(Path("a.jsonl"), records)
    annotate("a.jsonl", "--shard-rows", "2", code=1)
    for name in ("00000-00001", "00000-00004"):
        Path(f"out/rows/{name}.parquet").unlink()
    Path("out/rows/.00000-00001.parquet.half").write_text("half")
    Path("out/failed/.half").write_text("half")
    return {path.name: path.stat().st_mtime_ns for path in Path("out/rows").glob("[!.]*")}


def test_it_goes_on(annotate: Annotate, stopped: dict[str, int]) -> None:
    assert len(stopped) == 3
    # The row that failed before has failed.
    output = annotate("a.jsonl", "--shard-rows", "2", code=1)
    assert "3 rows annotated in this run" in output
    for name, written in stopped.items():
        assert Path(f"out/rows/{name}").stat().st_mtime_ns == written
    assert set(table()) == {f"r{n}" for n in range(10)} - {"r3", "r7"}
    assert [each["id"] for each in failed()] == ["r3", "r7"]


def test_a_row_that_fails_no_more(annotate: Annotate, pipeline: Path, monkeypatch: Any) -> None:
    """A shard that is done again leaves nothing of its first time."""
    write_lines(Path("a.jsonl"), [{"id": "a", "text": "坏"}])
    annotate("a.jsonl", code=1)
    Path("out/rows/00000-00000.parquet").unlink()
    monkeypatch.setattr("tests.annotate.slow.Troublesome.__call__", lambda self, doc: doc)
    annotate("a.jsonl")
    assert set(table()) == {"a"}
    assert failed() == []


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (["--text", "id"], "text"),
        (["--id", "other"], "id"),
        (["--format", "spacy"], "format"),
        (["--attribute", "length"], "attributes"),
        (["--code", CODE], "code"),
        (["--shard-rows", "3"], "shard_rows"),
    ],
)
def test_other_settings(
    annotate: Annotate, stopped: dict[str, int], option: list[str], name: str
) -> None:
    assert re.search(rf"F447.*start: {name}", annotate("a.jsonl", *option, code=1))


def test_a_run_of_an_older_version(annotate: Annotate, stopped: dict[str, int]) -> None:
    """Its manifest has fewer settings. Sizes of batches may change; a finished run stays."""
    content = json.loads(Path("out/manifest.json").read_text("utf-8"))
    del content["settings"]["shard_rows"]
    Path("out/manifest.json").write_text(json.dumps(content), "utf-8")
    for rows in (3, 0):
        output = annotate("a.jsonl", "--shard-rows", "3", "--batch-size", "5", code=1)
        assert f"{rows} rows annotated in this run" in output


def test_a_run_that_another_one_overtakes(annotate: Annotate, monkeypatch: Any) -> None:
    """Between its first look at the folder and the lock."""
    write_lines(Path("a.jsonl"), [{"text": "好"}] * 3)
    locked = Folder.locked

    def overtake(folder: Folder) -> Any:
        monkeypatch.setattr(Folder, "locked", locked)
        annotate("a.jsonl", "--shard-rows", "2")
        Path("out/rows/00000-00001.parquet").unlink()  # it was stopped
        return locked(folder)

    monkeypatch.setattr(Folder, "locked", overtake)
    annotate("a.jsonl")
    assert len(table()) == 3


def test_another_pipeline(tmp_path: Path) -> None:
    """By its content: a copy is the same, one that was changed or has another name for a file is
    not."""
    path = make_pipeline(tmp_path / "a")
    identity = Settings(str(path)).identity()
    shutil.copytree(path, tmp_path / "b")
    assert Settings(str(tmp_path / "b")).identity() == identity
    (tmp_path / "b/meta.json").rename(tmp_path / "b/meta2.json")
    assert Settings(str(tmp_path / "b")).identity() != identity
    meta = json.loads((path / "meta.json").read_text("utf-8"))
    (path / "meta.json").write_text(json.dumps({**meta, "version": "9"}), "utf-8")
    assert Settings(str(path)).identity() != identity


def test_other_files(annotate: Annotate, stopped: dict[str, int]) -> None:
    for content in ("{}\n", None):
        if content is None:
            Path("a.jsonl").unlink()
            write_lines(Path("b.jsonl"), [{"text": "好"}])
        else:
            Path("a.jsonl").write_text(content, "utf-8")
        output = annotate("a.jsonl" if content else "b.jsonl", code=1)
        assert "[F447]" in output
        assert "a.jsonl" in output


def test_a_folder_that_holds_something_else(annotate: Annotate) -> None:
    write_lines(Path("a.jsonl"), [{"text": "好"}])
    Path("out").mkdir()
    Path("out/precious.txt").write_text("mine")
    assert "[F395] out: contains other files" in annotate("a.jsonl", code=1)
    Path("out/manifest.json").write_text("{}")
    assert "[F395]" in annotate("a.jsonl", code=1)
    assert sorted(path.name for path in Path("out").iterdir()) == ["manifest.json", "precious.txt"]


def test_the_vocabulary_does_not_grow(annotate: Annotate, here: list[Annotator]) -> None:
    """With millions of texts it would fill the memory."""
    texts = [{"text": chr(0x3400 + n) + f"x{n}"} for n in range(3000)]
    write_lines(Path("a.jsonl"), texts)
    annotate("a.jsonl", "--shard-rows", "100")
    (annotator,) = here
    strings = set(annotator.nlp.vocab.strings)
    assert not any(each["text"][0] in strings for each in texts)


def test_a_run_that_could_not_begin(annotate: Annotate) -> None:
    """Its settings bind nobody."""
    Path("a.txt").write_text("重庆\n", "utf-8")
    assert "F468" in annotate("a.txt", "--attribute", "lenght:int", code=1)
    annotate("a.txt", "--attribute", "length:int")
    assert table()["a.txt:1"]["length"] == 2


def test_a_folder_of_another_process(annotate: Annotate) -> None:
    Path("a.txt").write_text("重庆\n", "utf-8")
    with locked(Path("out")):
        assert "[F043]" in annotate("a.txt", code=1)
    annotate("a.txt")


def test_output_within_the_input(annotate: Annotate) -> None:
    write_lines(Path("in/a.jsonl"), [{"text": "重庆"}])
    for _ in range(2):
        annotate("in", out="in/out")
    assert set(table(Path("in/out"))) == {"a.jsonl:1"}
