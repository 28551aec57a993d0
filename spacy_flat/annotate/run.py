"""A run over the input, in this process or with Ray: shards are read, annotated and written."""

from __future__ import annotations

import logging
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import Errors
from ..text.featuriser import batch_by_length
from .output import Folder, parse_attributes, record_of, schema_of
from .settings import Settings
from .sources import File, Row, Shard, find_files, shards_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MAX_ROWS = 1000  # of a batch
MAX_RETRIES = 3  # of a shard whose process dies
OBJECT_STORE = 150 << 20  # bytes
READERS = 2  # processes of Ray that read files

Watch = Callable[[float, float], object]
Read = Callable[[File, int], Iterator[Shard]]


@dataclass(frozen=True)
class Cluster:
    """Where to run with Ray.

    address: of a cluster; "" starts Ray on this machine. actors: number; 0 for one per CPU, or as
    many as the GPUs allow. gpus: per actor, may be a fraction. verbose: show Ray's messages.
    """

    address: str = ""
    actors: int = 0
    gpus: float = 0.0
    verbose: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result for a shard.

    rows, failed: numbers of rows. size, names, unread: as in Shard. unwritten: why writing failed,
    or "".
    """

    rows: int
    failed: int
    size: float
    names: Sequence[str]
    unread: str
    unwritten: str


@dataclass
class RunSummary:
    """The result of a run.

    rows, failed: in this run. shards: in all runs with this folder. unread: files that can't be
    read to their end, and why. unfinished: names of shards that are left.
    """

    rows: int = 0
    failed: int = 0
    shards: int = 0
    unread: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)


def run(
    inputs: Sequence[str],
    out: str,
    settings: Settings,
    cluster: Cluster | None,
    watch: Watch = lambda done, total: None,
) -> RunSummary:
    """Annotate files, without the shards that an earlier run finished.

    inputs: addresses of files and folders. out: address of the output folder. cluster: of Ray; None
    for this process. watch: called after each shard with the bytes that are done and all bytes.

    Raises OSError (F480) if the output can't be written; otherwise as `parse_attributes`,
    `find_files`, `Settings.identity`, `Annotator`, `Folder.check`, `Folder.locked` and `on_ray`.
    """
    parse_attributes(settings.attributes)
    folder = Folder(out if "://" in out else os.path.abspath(out))
    identity = settings.identity()
    files = [file for file in find_files(inputs) if not file.path.startswith(f"{folder.path}/")]
    identity |= {file.path: [file.size, file.modified] for file in files}
    try:
        with folder.locked():
            folder.check(identity)
            read = partial(shards_of, finished=folder.finished(), settings=settings)
            if cluster is None:
                annotator = Annotator(settings, folder.address)
                shards = (shard for n, file in enumerate(files) for shard in read(file, n))
                outcomes: Iterable[Outcome] = map(annotator.annotate, shards)
            else:
                outcomes = on_ray(files, read, folder, settings, cluster)
            return summarize(outcomes, folder, sum(file.size for file in files), watch)
    except (FileExistsError, PermissionError, NotADirectoryError) as error:
        raise OSError(Errors.F480.format(path=folder.address, reason=error)) from error


def summarize(
    outcomes: Iterable[Outcome], folder: Folder, total: float, watch: Watch
) -> RunSummary:
    """Add up outcomes as they come. Raises OSError (F480) for the first that can't be written."""
    summary, done = RunSummary(), 0.0
    names: list[str] = []
    for outcome in outcomes:
        if outcome.unwritten:
            raise OSError(Errors.F480.format(path=folder.address, reason=outcome.unwritten))
        if outcome.unread:
            summary.unread.append(outcome.unread)
        names += outcome.names
        summary.rows += outcome.rows
        summary.failed += outcome.failed
        done += outcome.size
        watch(done, total)
    finished = folder.finished()
    summary.shards = len(names)
    summary.unfinished = [name for name in names if name not in finished]
    return summary


# In a process


class Annotator:
    """A pipeline that annotates and writes shards."""

    def __init__(self, settings: Settings, out: str) -> None:
        """out: address of the output folder. Raises as `load_pipeline`."""
        self.size = settings.batch_size
        self.attributes = parse_attributes(settings.attributes)
        self.schema = schema_of(self.attributes)
        self.folder = Folder(out)
        self.nlp = load_pipeline(settings)

    def annotate(self, shard: Shard) -> Outcome:
        """Annotate and write a shard batch by batch, each in its own memory zone."""
        rows = failed = 0
        unwritten = ""
        try:
            if shard.rows:
                with self.folder.writing(shard.name, self.schema) as out:
                    for batch in batches_of(shard.rows, self.size):
                        with self.nlp.memory_zone():
                            records = self.records(batch)
                        out.write_table(pa.Table.from_pylist(records, self.schema))
                        rows += len(records)
                        failed += sum("error" in record for record in records)
        except OSError as error:
            unwritten = str(error)
        return Outcome(rows - failed, failed, shard.size, shard.names, shard.unread, unwritten)

    def records(self, batch: Sequence[Row]) -> list[dict[str, Any]]:
        """The rows of the output. The texts of a batch that fails are annotated one by one."""
        docs: list[Doc | None] = []
        with suppress(Exception):
            docs = list(self.nlp.pipe([row.text for row in batch]))
        if len(docs) < len(batch):  # a component may omit some
            docs = [None] * len(batch)
        return list(map(self.record, batch, docs))

    def record(self, row: Row, doc: Doc | None) -> dict[str, Any]:
        """A row of the output, with the reason if it can't be read, annotated or written.

        doc: of the row; None to annotate it here.
        """
        reason = row.error
        try:
            if not reason:
                doc = self.nlp(row.text) if doc is None else doc
                return record_of(row.id, doc, self.attributes, self.schema)
        except Exception as error:  # components may raise anything
            reason = f"{type(error).__name__}: {error}"
        return {"id": row.id, "text": row.text or None, "error": reason}


def load_pipeline(settings: Settings) -> Language:
    """Raises ValueError for an unknown attribute (F468) and a GPU that can't be used (F135);
    otherwise as `load_on_device`, and any error of the code."""
    from spacy.tokens import Doc
    from spacy.util import import_file, raise_error
    from thinc.api import require_gpu

    from ..loading import load_on_device

    if settings.gpu:
        try:
            require_gpu(0)  # among those that Ray shows the actor
        except (ValueError, RuntimeError) as error:
            raise ValueError(Errors.F135.format(gpu=0, reason=error)) from error
    for path in settings.code:
        import_file(Path(path).stem, path)
    nlp = load_on_device(settings.pipeline, settings.device)
    nlp.set_error_handler(raise_error)  # others may skip rows silently
    for attribute in parse_attributes(settings.attributes):
        if not Doc.has_extension(attribute.name):
            words = {"name": attribute.name, "pipeline": settings.pipeline}
            raise ValueError(Errors.F468.format(**words))
    return nlp


def batches_of(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Batches with a maximum number of rows and characters, or of a single longer row."""
    return batch_by_length(rows, size, lambda row: len(row.text), MAX_ROWS)


# With Ray


class Actor(Annotator):
    """An annotator as Ray calls it."""

    def __call__(self, row: dict[str, bytes]) -> dict[str, bytes]:
        return {"outcome": pickle.dumps(self.annotate(pickle.loads(row["shard"])))}


def on_ray(
    files: Sequence[File], read: Read, folder: Folder, settings: Settings, cluster: Cluster
) -> Iterator[Outcome]:
    """Read files with a few processes and annotate their shards with actors; yields the results as
    they come. A shard whose process dies is repeated by another one, at most `MAX_RETRIES` times.

    Raises as `ray_running` and `possible_actors`, and RuntimeError (F471) if no actor can load the
    pipeline.
    """

    def read_file(row: dict[str, int]) -> Iterator[dict[str, bytes]]:
        for shard in read(files[row["number"]], row["number"]):
            yield {"shard": pickle.dumps(shard)}

    with ray_running(cluster) as ray:
        shards = ray.data.from_items(
            [{"number": number} for number in range(len(files))], override_num_blocks=len(files)
        ).flat_map(read_file, num_cpus=0, concurrency=min(READERS, len(files)))
        actors = cluster.actors or possible_actors(ray.cluster_resources(), cluster.gpus)
        results = shards.map(
            Actor,
            fn_constructor_args=(settings, folder.address),
            compute=ray.data.ActorPoolStrategy(size=actors, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            num_gpus=cluster.gpus or None,
            ray_remote_args_fn=lambda: {"max_task_retries": MAX_RETRIES},
        )
        try:
            for result in results.iter_rows():
                yield pickle.loads(result["outcome"])
        except ray.exceptions.ActorDiedError as error:
            raise RuntimeError(cause_of(error)) from error


@contextmanager
def ray_running(cluster: Cluster) -> Iterator[Any]:
    """Start Ray or join a cluster. Raises ConnectionError (F470) if that is not possible."""
    # Read on import: no usage reports and messages.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
    import ray
    import ray.data

    level = "INFO" if cluster.verbose else "CRITICAL"
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
        address = cluster.address or "this machine"
        raise ConnectionError(Errors.F470.format(address=address, reason=error)) from error
    logging.getLogger("ray.data").setLevel(level)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = cluster.verbose
    context.target_max_block_size = 1  # so that each shard goes to the next free actor
    context.max_errored_blocks = -1  # those of shards that kill processes
    try:
        yield ray
    finally:
        ray.shutdown()


def cause_of(error: Exception) -> str:
    """The error of an actor's constructor, with a code (F471) if it has none."""
    message = re.split(r"^[A-Za-z_.]+: ", str(error), flags=re.MULTILINE)[-1].strip()
    return message if re.match(r"\[[EF]\d+\] ", message) else Errors.F471.format(reason=message)


def possible_actors(resources: Mapping[str, float], gpus: float) -> int:
    """One actor per CPU, or as many as the GPUs allow.

    Raises ValueError (F484) without GPUs, or with less than an actor needs.
    """
    if not gpus:
        return max(1, int(resources.get("CPU", 0)))
    possible = int(resources.get("GPU", 0) / gpus)
    if not possible:
        raise ValueError(Errors.F484)
    return possible
