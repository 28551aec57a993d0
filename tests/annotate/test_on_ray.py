"""On a real Ray: processes and nodes die, and every row is there once."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="ray is not installed")

from spacy_flat.annotate.run import Cluster, RunSummary, cause_of, possible_actors, run
from spacy_flat.annotate.settings import Settings

from .conftest import CODE, Annotate, make_pipeline, table, write_lines

MEMORY = 80 << 20  # of a node's object store, the least that Ray takes
ROWS = 300
HEALTH = {  # a node that doesn't answer for seconds is dead
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "3",
}


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster of two nodes of one CPU each."""
    from ray.cluster_utils import Cluster as Nodes

    options = {"num_cpus": 1, "object_store_memory": MEMORY}
    head = {**options, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in HEALTH.items():
            patch.setenv(name, value)
        # Ray's exit handlers would keep the nodes alive: Python 3.13 clears the handlers in forked
        # children, and the nodes' gRPC clients crash when they are destroyed there.
        cluster = Nodes(initialize_head=True, head_node_args=head, shutdown_at_exit=False)
        cluster.add_node(**options)
        yield cluster
        cluster.shutdown()
        cluster.head_node = None
        cluster.worker_nodes.clear()
        gc.collect()


@pytest.fixture
def slow_pipeline(tmp_path: Path) -> Path:
    """It notes the processes that it runs in, in a folder "notes" beside it."""
    (tmp_path / "notes").mkdir()
    return make_pipeline(tmp_path / "slow", notes=str(tmp_path / "notes"), seconds=0.02)


def test_actors_of_a_cluster() -> None:
    resources = {"CPU": 3.0, "GPU": 1.0}
    assert possible_actors(resources, 0) == 3
    assert possible_actors(resources, 0.25) == 4
    with pytest.raises(ValueError, match="F484"):
        possible_actors(resources, 2)


def test_a_ray_that_does_not_start(annotate: Annotate, monkeypatch: Any) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr("ray.init", fail)
    Path("a.txt").write_text("重庆\n", "utf-8")
    for options, place in (("--actors 2", "this machine"), ("--address 10.0.0.1:6379", "10.0.0.1")):
        output = annotate("a.txt", *options.split(), code=1)
        assert f"[F470] Can't start Ray or join its cluster ({place}" in output
        assert "no memory." in output


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("ValueError: [F468] There is none.", "[F468] There is none."),
        ("OSError: [E050] Can't find model 'x'.\n\nTwo lines.", "[E050] Can't find model 'x'."),
        ("ImportError: no such thing", "[F471] No actor could load the pipeline: no such thing"),
    ],
)
def test_what_is_told_of_an_actor_that_is_not_made(raised: str, told: str) -> None:
    report = "The actor died: ray::Worker.__init__()\n  File x.py, line 1\n    raise it\n" + raised
    assert cause_of(RuntimeError(report)).startswith(told)


def test_an_actor_and_a_node_die(nodes: Any, slow_pipeline: Path, tmp_path: Path) -> None:
    """Their shards are repeated; one that kills its process each time is left, and named."""
    texts = [f"死{n}" if n == 277 else f"重庆{n}" for n in range(ROWS)]
    records = [{"id": str(n), "text": text} for n, text in enumerate(texts)]
    path = write_lines(tmp_path / "a.jsonl", records)
    events = iter([kill_an_actor, remove_a_node])
    happened: list[str] = []

    def watch(done: float, total: float) -> None:
        """Something happens after 40 rows, and something else after 40 more."""
        if done / total >= 40 / ROWS * (1 + len(happened)):
            event = next(events, None)
            if event is not None:
                happened.append(event(nodes, tmp_path))

    settings = Settings(str(slow_pipeline), code=(CODE,), shard_rows=20)
    cluster = Cluster(nodes.address, actors=2)
    summary = run([str(path)], str(tmp_path / "out"), settings, cluster, watch)
    assert happened == ["actor", "node"]
    assert summary == RunSummary(ROWS - 20, 0, ROWS // 20, [], ["00000-00013"])
    assert set(table(tmp_path / "out")) == {str(n) for n in range(ROWS) if n // 20 != 13}


def kill_an_actor(nodes: Any, folder: Path) -> str:
    os.kill(int(next((folder / "notes").iterdir()).name), signal.SIGKILL)
    return "actor"


def remove_a_node(nodes: Any, folder: Path) -> str:
    nodes.remove_node(nodes.list_all_nodes()[1], allow_graceful=False)
    return "node"
