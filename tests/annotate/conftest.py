"""Pipelines that find 重庆, and runs without Ray."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import spacy
from typer.testing import CliRunner, Result

pytest.importorskip("ray", reason="ray is not installed")

from spacy_flat.annotate import run as running
from spacy_flat.annotate.actor import Annotator, Outcome
from spacy_flat.annotate.addresses import Folder
from spacy_flat.annotate.settings import Settings
from spacy_flat.annotate.sources import Shard
from spacy_flat.cli import app

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


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Annotator]:
    """Shards are annotated in this process, one after the other. The annotators of all runs."""
    made = []

    def outcomes(
        shards: Sequence[Shard], folder: Folder, settings: Settings, cluster: object
    ) -> Iterator[Outcome]:
        assert "://" in folder.absolute or Path(folder.absolute).is_absolute()
        made.append(Annotator(settings, folder.absolute))
        yield from map(made[-1].annotate, shards)

    monkeypatch.setattr(running, "outcomes", outcomes)
    return made


Annotate = Callable[..., Result]


@pytest.fixture
def annotate(here: object, pipeline: Path, tmp_path: Path, monkeypatch: Any) -> Annotate:
    """The command, with the pipeline, on what is in the working directory."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, pipeline: str = str(pipeline), out: str = "out") -> Result:
        return CliRunner().invoke(app, ["annotate", pipeline, *arguments, "--out", out])

    return command


def write_lines(path: Path, records: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    return path


def table(out: Path = Path("out")) -> dict[str, dict[str, Any]]:
    """The rows of the output, of which none is there twice, by id."""
    rows = [
        row for path in sorted((out / "rows").iterdir()) for row in pq.read_table(path).to_pylist()
    ]
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def failed(out: Path = Path("out")) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted((out / "failed").iterdir())
        for line in path.read_text("utf-8").splitlines()
    ]
