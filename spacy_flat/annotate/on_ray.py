"""Ray's actors that annotate shards on this machine or a cluster."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

# Ray reads these on import: no usage reports and messages.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")

import ray
import ray.data
from ray.data import ActorPoolStrategy, DataContext

from ..errors import Errors
from .actor import Annotator, Outcome
from .output import Folder
from .settings import Settings
from .sources import Shard

OBJECT_STORE = 150 << 20  # bytes; only descriptions of shards go through it


@dataclass(frozen=True)
class Cluster:
    """Where to run.

    address: of a cluster; "" starts Ray on this machine. actors: number; 0 for one per CPU, or as
    many as the GPUs allow. gpus: per actor, may be a fraction. verbose: show Ray's messages.
    """

    address: str = ""
    actors: int = 0
    gpus: float = 0.0
    verbose: bool = False


@contextmanager
def started(cluster: Cluster) -> Iterator[None]:
    """Start Ray or join a cluster.

    Raises ConnectionError if the cluster can't be joined (F470) or Ray doesn't start (F489).
    """
    level = "INFO" if cluster.verbose else "ERROR"
    options: dict[str, Any] = {
        "log_to_driver": cluster.verbose,
        "logging_level": level,
        "runtime_env": {"env_vars": {"OMP_NUM_THREADS": "1"}},
    }
    if not cluster.address:
        options["num_cpus"] = cluster.actors or None
        options["object_store_memory"] = OBJECT_STORE
        options["include_dashboard"] = False
    try:
        ray.init(cluster.address or "local", **options)
    except Exception as error:
        text = Errors.F470 if cluster.address else Errors.F489
        message = text.format(address=cluster.address, reason=error)
        raise ConnectionError(message) from error
    logging.getLogger("ray.data").setLevel(level)
    context = DataContext.get_current()
    context.enable_progress_bars = cluster.verbose
    context.print_on_execution_start = cluster.verbose
    try:
        yield
    finally:
        ray.shutdown()


class ShardActor(Annotator):
    """An annotator as Ray calls it."""

    def __init__(self, settings: Settings, out: str, shards: Sequence[Shard]) -> None:
        super().__init__(settings, out)
        self.shards = shards

    def __call__(self, row: dict[str, int]) -> dict[str, Any]:
        return asdict(self.annotate(self.shards[row["id"]]))


def outcomes(
    shards: Sequence[Shard], folder: Folder, settings: Settings, cluster: Cluster
) -> Iterator[Outcome]:
    """Annotate shards with actors; yields their results as they come.

    Raises as `started` and `possible_actors`, and RuntimeError (F471) if no actor can load the
    pipeline.
    """
    with started(cluster):
        actors = min(cluster.actors or possible_actors(cluster), len(shards))
        results = ray.data.range(len(shards), override_num_blocks=len(shards)).map(
            ShardActor,
            fn_constructor_args=(settings, folder.absolute, shards),
            compute=ActorPoolStrategy(size=actors, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            num_gpus=cluster.gpus or None,
        )
        try:
            for result in results.iter_rows():
                yield Outcome(**result)
        except ray.exceptions.ActorDiedError as error:
            raise RuntimeError(cause_of(error)) from error


def cause_of(error: Exception) -> str:
    """The error of an actor's constructor, with a code (F471) if it has none."""
    message = re.split(r"^[A-Za-z_.]+: ", str(error), flags=re.MULTILINE)[-1].strip()
    return message if re.match(r"\[[EF]\d+\] ", message) else Errors.F471.format(reason=message)


def possible_actors(cluster: Cluster) -> int:
    """One actor per CPU, or as many as the GPUs allow.

    Raises ValueError (F484) without GPUs, or with less than an actor needs.
    """
    resources = ray.cluster_resources()
    if not cluster.gpus:
        return max(1, int(resources.get("CPU", 0)))
    possible = int(resources.get("GPU", 0) / cluster.gpus)
    if not possible:
        raise ValueError(Errors.F484)
    return possible
