"""Pipelines that find 重庆, and runs without Ray."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import spacy
from commands import said

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from . import slow

CODE = str(Path(slow.__file__))


def make_pipeline(path: Path, **config: Any) -> Path:
    nlp = spacy.blank("zh")
    ruler: Any = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "LOC", "pattern": [{"ORTH": "重"}, {"ORTH": "庆"}]}])
    nlp.add_pipe("troublesome", config=config)
    nlp.to_disk(path)
    return path


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pipeline(tmp_path_factory.mktemp("pipeline"))


Annotate = Callable[..., str]


@pytest.fixture
def annotate(pipeline: Path, tmp_path: Path, monkeypatch: Any) -> Annotate:
    """What the command prints in one process, with the pipeline, on what is in the working
    directory."""
    monkeypatch.chdir(tmp_path)

    def command(
        *arguments: str, pipeline: str = str(pipeline), out: str = "out", code: int = 0
    ) -> str:
        return said("annotate", pipeline, "--actors", 1, *arguments, "--out", out, code=code)

    return command


def write_lines(path: Path, records: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    return path


def rows_of(out: Path) -> dict[str, dict[str, Any]]:
    """All rows of the output, none of which is there twice, by id."""
    paths = sorted((out / "rows").glob("[!.]*"))
    rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def table(out: Path = Path("out")) -> dict[str, dict[str, Any]]:
    """The annotated rows."""
    return {id: row for id, row in rows_of(out).items() if row["error"] is None}


def failed(out: Path = Path("out")) -> dict[str, str]:
    """The errors of rows."""
    return {id: row["error"] for id, row in rows_of(out).items() if row["error"] is not None}
