"""A run over the input, in this process or with Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, repeat
from typing import TYPE_CHECKING

from ..errors import Errors
from .actor import Annotator, Outcome
from .output import Folder, parse_attributes
from .settings import Settings
from .sources import Shard, cut, find_files

if TYPE_CHECKING:
    from .on_ray import Cluster

SHARD_ROWS = 2_000
READERS = 4  # of files that are cut into shards


@dataclass(frozen=True)
class RunSummary:
    """The result of a run.

    rows, failed: in this run. shards: in all runs with this folder. unread: files that can't be
    read to their end, and why. unfinished: names of shards that are left.
    """

    rows: int
    failed: int
    shards: int
    unread: dict[str, str]
    unfinished: list[str]


Watch = Callable[[int, int], object]


def run(
    inputs: Sequence[str],
    out: str,
    settings: Settings,
    cluster: Cluster | None,
    shard_rows: int = SHARD_ROWS,
    watch: Watch = lambda done, total: None,
) -> RunSummary:
    """Annotate files, without the shards that an earlier run finished.

    inputs: addresses of files and folders. out: address of the output folder. cluster: of Ray; None
    for this process. watch: called after each shard with the numbers of rows done and of all rows.

    Raises OSError (F480) if the output can't be written; otherwise as `parse_attributes`,
    `find_files`, `Settings.identity`, `Folder.check`, `Folder.locked`, `Annotator` and
    `on_ray.outcomes`.
    """
    parse_attributes(settings.attributes)
    folder = Folder(out)
    files = [file for file in find_files(inputs) if not file.path.startswith(f"{folder.path}/")]
    identity = {**settings.identity(), "shard_rows": shard_rows}
    identity |= {file.path: [file.size, file.modified] for file in files}
    try:
        with folder.locked():
            folder.check(identity)
            with ThreadPoolExecutor(READERS) as pool:
                found = list(pool.map(cut, files, count(), repeat(shard_rows), repeat(settings)))
            unread = {
                file.name: reason for file, (_, reason) in zip(files, found, strict=True) if reason
            }
            shards = [shard for each, _ in found for shard in each]
            return annotate(shards, unread, folder, settings, cluster, watch)
    except (FileExistsError, PermissionError, NotADirectoryError) as error:
        raise OSError(Errors.F480.format(path=folder.address, reason=error)) from error


def annotate(
    shards: Sequence[Shard],
    unread: dict[str, str],
    folder: Folder,
    settings: Settings,
    cluster: Cluster | None,
    watch: Watch,
) -> RunSummary:
    """Annotate unfinished shards."""
    finished = folder.prepare()
    todo = {shard.name: shard for shard in shards if shard.name not in finished}
    total = sum(shard.rows for shard in shards)
    done = total - sum(shard.rows for shard in todo.values())
    watch(done, total)
    rows = failed = 0
    for outcome in outcomes(list(todo.values()), folder, settings, cluster):
        if outcome.unwritten:
            raise OSError(Errors.F480.format(path=folder.address, reason=outcome.unwritten))
        if outcome.unread:
            unread[todo[outcome.name].file.name] = outcome.unread
        elif not outcome.given_up:
            done += todo.pop(outcome.name).rows
            rows, failed = rows + outcome.rows, failed + outcome.failed
            watch(done, total)
    folder.prepare()
    return RunSummary(rows, failed, len(shards), unread, list(todo))


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
