"""A run: the shards of the input, annotated by a pool of Ray's actors."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

# Ray reads these where it is imported: it reports its use to nobody, and its own messages stay out
# of ours.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")  # 60 are too few on a busy machine

import ray
import ray.data
from ray.data import ActorPoolStrategy, DataContext

from ..errors import Errors
from .actor import Annotator, Outcome
from .addresses import Folder
from .rows import Failure, parse_attributes
from .settings import Settings
from .shards import FAILED, Plan, prepare, tidy, write_failures
from .sources import File, Shard, cut, find_files

OBJECT_STORE = 150 << 20  # bytes; only descriptions of shards go through it
READERS = 4  # of files that are cut into shards


@dataclass(frozen=True)
class Cluster:
    """Where a run takes place.

    address: of a cluster to join; "" to start Ray on this machine. actors: how many; 0 for one a
    CPU, or as many as the GPUs allow. gpus: of each actor, also a part of one. verbose: whether
    Ray shows its own messages and progress.
    """

    address: str = ""
    actors: int = 0
    gpus: float = 0.0
    verbose: bool = False


@dataclass(frozen=True)
class Summary:
    """What came of a run.

    rows, failed: of this run. shards: of all runs with this folder. unread: files that can't be
    read (further), and why. unfinished: names of the shards that are still to be done.
    has_failures: whether rows failed in this run or one before.
    """

    rows: int
    failed: int
    shards: int
    unread: dict[str, str]
    unfinished: list[str]
    has_failures: bool


Watch = Callable[[int, int], object]


def run(
    inputs: Sequence[str],
    out: str,
    settings: Settings,
    cluster: Cluster,
    shard_rows: int,
    watch: Watch = lambda done, total: None,
) -> Summary:
    """Annotate files, or go on where an earlier run of the same was stopped.

    inputs: addresses of files and folders. out: address of the folder to write to. shard_rows:
    rows of a shard. watch: is told how many rows are done, and of how many, after each shard.

    Raises as `parse_attributes`, `find_files`, `Plan.load`, `Plan.check`, `Settings.identity` and
    `started` do, RuntimeError where no actor can load the pipeline (F471), and OSError where the
    output can't be written (F480).
    """
    parse_attributes(settings.attributes)
    folder = Folder(out)
    files = [file for file in find_files(inputs) if not file.path.startswith(f"{folder.path}/")]
    identity = settings.identity()
    plan = Plan.load(folder)
    if plan is not None and plan.finished(folder):
        plan.check(identity, files, folder)
    else:  # also after a run that could not begin
        folder.clear(FAILED)
        plan = make_plan(files, shard_rows, settings, identity)
        plan.save(folder)
    return annotate(plan, folder, settings, cluster, watch)


def make_plan(
    files: Sequence[File], rows: int, settings: Settings, identity: dict[str, Any]
) -> Plan:
    """Cut files into shards, some at once. Each is read once for this, of Parquet its end."""

    def cut_file(number: int) -> tuple[list[Shard], str]:
        return cut(files[number], number, rows, settings)

    with ThreadPoolExecutor(READERS) as pool:
        found = list(pool.map(cut_file, range(len(files))))
    shards = [shard for each, _ in found for shard in each]
    unread = {number: reason for number, (_, reason) in enumerate(found) if reason}
    return Plan(identity, list(files), shards, unread)


def annotate(
    plan: Plan, folder: Folder, settings: Settings, cluster: Cluster, watch: Watch
) -> Summary:
    """Annotate those shards that are not finished."""
    prepare(folder)
    write_unread(plan, folder)
    finished = plan.finished(folder)
    todo = {shard.name: shard for shard in plan.shards if shard.name not in finished}
    total = sum(shard.rows for shard in plan.shards)
    done = total - sum(shard.rows for shard in todo.values())
    watch(done, total)
    rows = failed = 0
    unread = {plan.files[number].name: reason for number, reason in plan.unread.items()}
    for outcome in outcomes(list(todo.values()), folder, settings, cluster):
        shard = todo[outcome.name]
        if outcome.given_up:
            continue
        if outcome.unwritten:
            raise OSError(Errors.F480.format(path=folder.address, reason=outcome.unwritten))
        if outcome.unread:
            unread[shard.file.name] = outcome.unread
            continue
        del todo[outcome.name]
        rows, failed, done = rows + outcome.rows, failed + outcome.failed, done + shard.rows
        watch(done, total)
    tidy(folder)
    has_failures = bool(folder.names(FAILED))
    return Summary(rows, failed, len(plan.shards), unread, list(todo), has_failures)


def write_unread(plan: Plan, folder: Folder) -> None:
    """Write a failure for each file that can't be read (further)."""
    for number, reason in plan.unread.items():
        file = plan.files[number]
        line = 1 + sum(shard.rows for shard in plan.shards if shard.file == file)
        write_failures(folder, f"{number:05d}", [Failure(None, file.name, line, reason)])


# Ray


@contextmanager
def started(cluster: Cluster) -> Iterator[None]:
    """Ray on this machine, or a cluster that is joined; its messages are kept back.

    Raises ConnectionError (F470) where the cluster does not answer.
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
    except Exception as error:  # Ray raises bare ones too
        action = "joined" if cluster.address else "started"
        message = Errors.F470.format(action=action, reason=error)
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
    """An annotator of the shards that Ray hands it."""

    def __call__(self, record: dict[str, str]) -> dict[str, str]:
        return {"outcome": json.dumps(asdict(self.annotate(Shard.from_json(record["shard"]))))}


def outcomes(
    shards: Sequence[Shard], folder: Folder, settings: Settings, cluster: Cluster
) -> Iterator[Outcome]:
    """Let actors annotate shards, and yield what came of each as soon as it is known."""
    if not shards:
        return
    with started(cluster):
        records = [{"shard": shard.to_json()} for shard in shards]
        possible = possible_actors(cluster)
        actors = min(cluster.actors or possible, len(shards))
        results = ray.data.from_items(records, override_num_blocks=len(shards)).map(
            ShardActor,
            fn_constructor_args=(settings, folder.absolute),
            compute=ActorPoolStrategy(size=actors, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            num_gpus=cluster.gpus or None,
        )
        try:
            for result in results.iter_rows():
                yield Outcome(**json.loads(result["outcome"]))
        except ray.exceptions.ActorDiedError as error:
            raise RuntimeError(cause_of(error)) from error


def cause_of(error: Exception) -> str:
    """What an actor raised where it was made: the end of Ray's report, with a code (F471) where it
    has none."""
    message = re.split(r"^[A-Za-z_.]+: ", str(error), flags=re.MULTILINE)[-1].strip()
    return message if re.match(r"\[[EF]\d+\] ", message) else Errors.F471.format(reason=message)


def possible_actors(cluster: Cluster) -> int:
    """One actor a CPU, or as many as there are GPUs for.

    Raises ValueError (F484) where there is no GPU, or less than an actor is to have.
    """
    resources = ray.cluster_resources()
    if not cluster.gpus:
        return max(1, int(resources.get("CPU", 0)))
    possible = int(resources.get("GPU", 0) / cluster.gpus)
    if not possible:
        raise ValueError(Errors.F484)
    return possible
