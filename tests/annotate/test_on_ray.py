"""On a real Ray: a process dies, and every row is there once."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="ray is not installed")

from spacy_flat.annotate import run
from spacy_flat.annotate.settings import Settings

from .conftest import CODE, Annotate, make_pipeline, table, write_lines


def test_a_process_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its shard is repeated; if it kills its process each time, it is left, and named."""
    (tmp_path / "notes").mkdir()
    pipeline = make_pipeline(tmp_path / "pipeline", notes=str(tmp_path / "notes"))
    monkeypatch.setattr(run, "MAX_RETRIES", 1)
    texts = [f"{'死' if n == 33 else '重庆'}{n}" for n in range(40)]
    records = [{"id": str(n), "text": text} for n, text in enumerate(texts)]
    path = write_lines(tmp_path / "a.jsonl", records)
    settings = Settings(str(pipeline), code=CODE, shard_rows=10)
    seen: list[int] = []
    cluster = run.Cluster(actors=1)
    found = run.run([str(path)], str(tmp_path / "out"), settings, cluster, seen.append)
    names = [f"00000-{n:05d}" for n in range(4)]
    assert found == run.Summary(30, 0, names, [], ["00000-00003"])
    assert sum(seen) == 30
    assert len(list((tmp_path / "notes").iterdir())) == 2
    assert set(table(tmp_path / "out")) == {str(n) for n in range(30)}


def test_a_ray_that_does_not_start(annotate: Annotate, monkeypatch: Any) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr("ray.init", fail)
    Path("a.txt").write_text("重庆\n", "utf-8")
    for options, place in (("--actors 2", "this machine"), ("--address 10.0.0.1:6379", "10.0.0.1")):
        output = annotate("a.txt", *options.split(), code=1)
        assert f"[F470] Can't start Ray or join its cluster ({place}" in output
        assert "no memory." in output
