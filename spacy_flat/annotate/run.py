"""A run over the input, in this process or with Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, repeat
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from .actor import Annotator, Outcome
from .addresses import Folder
from .rows import Failure, parse_attributes
from .settings import Settings
from .shards import ATTEMPTS, FAILED, Plan, prepare, tidy, write_failures
from .sources import File, Shard, cut, find_files

if TYPE_CHECKING:
    from .on_ray import Cluster

SHARD_ROWS = 2_000
READERS = 4  # of files that are cut into shards


@dataclass(frozen=True)
class RunSummary:
    """The result of a run.

    rows, failed: in this run. shards: in all runs with this folder. unread: files that can't be
    read to their end, and why. unfinished: names of shards that are left. has_failures: of this run
    or an earlier one.
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
    cluster: Cluster | None,
    shard_rows: int = 0,
    watch: Watch = lambda done, total: None,
) -> RunSummary:
    """Annotate files, or resume an earlier run.

    inputs: addresses of files and folders. out: address of the output folder. cluster: of Ray; None
    for this process. shard_rows: 0 for those of the earlier run, or 2,000. watch: called after each
    shard with the numbers of rows done and of all rows.

    Raises OSError (F480) if the output can't be written; otherwise as `parse_attributes`,
    `find_files`, `Plan.load`, `Plan.check`, `Settings.identity`, `Folder.locked`, `Annotator` and
    `on_ray.outcomes`.
    """
    parse_attributes(settings.attributes)
    folder = Folder(out)
    files = [file for file in find_files(inputs) if not file.path.startswith(f"{folder.path}/")]
    identity = settings.identity()
    if shard_rows:
        identity["shard_rows"] = shard_rows
    Plan.load(folder)  # leave a folder with other content alone, without a lock
    with folder.locked():
        plan = Plan.load(folder)
        if plan is not None and plan.finished(folder):
            plan.check(identity, files, folder)
        else:
            folder.clear(FAILED)
            rows = shard_rows or SHARD_ROWS
            before, plan = plan, make_plan(files, rows, settings, {**identity, "shard_rows": rows})
            if plan != before:
                folder.clear(ATTEMPTS)  # of other rows
            try:
                plan.save(folder)
            except OSError as error:
                message = Errors.F480.format(path=folder.address, reason=error)
                raise OSError(message) from error
        return annotate(plan, folder, settings, cluster, watch)


def make_plan(
    files: Sequence[File], rows: int, settings: Settings, identity: dict[str, Any]
) -> Plan:
    """Cut files into shards, reading several at once."""
    with ThreadPoolExecutor(READERS) as pool:
        found = list(pool.map(cut, files, count(), repeat(rows), repeat(settings)))
    shards = [shard for each, _ in found for shard in each]
    unread = {number: reason for number, (_, reason) in enumerate(found) if reason}
    return Plan(identity, list(files), shards, unread)


def annotate(
    plan: Plan, folder: Folder, settings: Settings, cluster: Cluster | None, watch: Watch
) -> RunSummary:
    """Annotate unfinished shards."""
    prepare(folder, keep_attempts=cluster is None)
    write_unread(plan, folder)
    finished = plan.finished(folder)
    todo = {shard.name: shard for shard in plan.shards if shard.name not in finished}
    total = sum(shard.filled for shard in plan.shards)
    done = total - sum(shard.filled for shard in todo.values())
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
        rows, failed, done = rows + outcome.rows, failed + outcome.failed, done + shard.filled
        watch(done, total)
    tidy(folder)
    has_failures = bool(folder.names(FAILED))
    return RunSummary(rows, failed, len(plan.shards), unread, list(todo), has_failures)


def write_unread(plan: Plan, folder: Folder) -> None:
    """Write a failure for each file that can't be read to its end."""
    for number, reason in plan.unread.items():
        file = plan.files[number]
        line = 1 + sum(shard.rows for shard in plan.shards if shard.file == file)
        write_failures(folder, f"{number:05d}", [Failure(None, file.name, line, reason)])


def outcomes(
    shards: Sequence[Shard], folder: Folder, settings: Settings, cluster: Cluster | None
) -> Iterator[Outcome]:
    """Annotate shards; yields their results."""
    if not shards:
        return
    if cluster is None:
        yield from map(Annotator(settings, folder.absolute).annotate, shards)
        return
    from . import on_ray

    yield from on_ray.outcomes(shards, folder, settings, cluster)
