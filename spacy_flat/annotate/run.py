"""A run over the input, in this process or with Ray: shards are read, annotated and written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import Errors
from ..text.batches import batch_by_length
from .output import ROWS, Folder, record_of, schema_of
from .settings import Settings
from .sources import Row, Shard, find_files, shards_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MAX_ROWS = 1000  # of a batch
MAX_RETRIES = 3  # of a shard whose process dies
OBJECT_STORE = 150 << 20  # bytes

Watch = Callable[[int], object]


@dataclass(frozen=True)
class Cluster:
    """Where to run with Ray.

    actors: their number. address: of a cluster; "" starts Ray on this machine. gpus: per actor, may
    be a fraction.
    """

    actors: int
    address: str = ""
    gpus: float = 0.0


@dataclass
class Summary:
    """The result for a shard, or for a run.

    rows, failed: numbers of rows. names: of the shards, also those that earlier runs finished.
    unread: files that can't be read to their end, and why. unfinished: shards that are left.
    """

    rows: int = 0
    failed: int = 0
    names: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)


def run(
    inputs: Sequence[str],
    out: str,
    settings: Settings,
    cluster: Cluster | None,
    watch: Watch = lambda rows: None,
) -> Summary:
    """Annotate files, without the shards that an earlier run finished.

    inputs: addresses of files and folders. out: address of the output folder. cluster: of Ray; None
    for this process. watch: called after each shard with its number of rows.

    Raises OSError if the output can't be written; otherwise as `find_files`, `Settings.identity`,
    `Annotator`, `Folder.check`, `Folder.locked` and `on_ray`.
    """
    folder = Folder(out if "://" in out else os.path.abspath(out))
    identity = settings.identity()
    files = find_files(inputs, folder.path)
    identity |= {file.path: [file.size, file.modified] for file in files}
    identity["order of the files"] = [file.path for file in files]  # whose numbers name the shards
    with folder.locked():
        folder.check(identity)
        read = partial(shards_of, finished=folder.finished(), settings=settings)
        shards = (shard for n, file in enumerate(files) for shard in read(file, n))
        if cluster is None:
            found: Iterable[Summary] = map(Annotator(settings, folder.address).annotate, shards)
        else:
            found = on_ray(shards, folder, settings, cluster)
        return sum_up(found, folder, watch)


def sum_up(summaries: Iterable[Summary], folder: Folder, watch: Watch) -> Summary:
    """Add up the results of shards as they come."""
    total = Summary()
    for each in summaries:
        total.rows += each.rows
        total.failed += each.failed
        total.names += each.names
        total.unread += each.unread
        watch(each.rows + each.failed)
    finished = folder.finished()
    total.unfinished = [name for name in total.names if name not in finished]
    return total


# In a process


class Annotator:
    """A pipeline that annotates and writes shards."""

    def __init__(self, settings: Settings, out: str) -> None:
        """out: address of the output folder. Raises as `load_pipeline`."""
        self.settings = settings
        self.schema = schema_of(settings.attributes)
        self.folder = Folder(out)
        self.nlp = load_pipeline(settings)

    def annotate(self, shard: Shard) -> Summary:
        """Annotate and write a shard batch by batch, each in its own memory zone."""
        found = Summary(names=shard.names, unread=shard.unread)
        if not shard.rows:
            return found
        with (
            self.folder.replacing(f"{ROWS}/{shard.name}.parquet") as file,
            pq.ParquetWriter(file, self.schema) as out,
        ):
            size = self.settings.batch_size
            for batch in batch_by_length(shard.rows, size, lambda row: len(row.text), MAX_ROWS):
                with self.nlp.memory_zone():
                    records = self.records(batch)
                out.write_table(pa.Table.from_pylist(records, self.schema))
                failed = sum("error" in record for record in records)
                found.rows += len(records) - failed
                found.failed += failed
        return found

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
                return record_of(row.id, doc, self.settings.attributes, self.schema)
        except Exception as error:  # components may raise anything
            reason = f"{type(error).__name__}: {error}"
        return {"id": row.id, "text": row.text or None, "error": reason}


def load_pipeline(settings: Settings) -> Language:
    """Raises ValueError for an unknown attribute (F468) and without CuPy on a GPU; otherwise as
    `load_on_device`, and any error of the code."""
    from spacy.tokens import Doc
    from spacy.util import import_file, raise_error
    from thinc.api import require_gpu

    from ..loading import load_on_device

    if settings.gpu:
        require_gpu(0)  # among those that Ray shows the actor
    if settings.code:
        import_file(Path(settings.code).stem, settings.code)
    nlp = load_on_device(settings.pipeline, settings.device)
    nlp.set_error_handler(raise_error)  # others may skip rows silently
    for name in settings.attributes:
        if not Doc.has_extension(name):
            raise ValueError(Errors.F468.format(name=name, pipeline=settings.pipeline))
    return nlp


# With Ray


def on_ray(
    shards: Iterable[Shard], folder: Folder, settings: Settings, cluster: Cluster
) -> Iterator[Summary]:
    """Annotate shards with actors; yields the results as they come. A shard whose process dies is
    repeated at most `MAX_RETRIES` times, and then left.

    Raises as `ray_running`, ValueError (F484) if there are too few GPUs, and RuntimeError (F471) if
    an actor can't load the pipeline.
    """
    running: dict[Any, Any] = {}  # results to come, and their actors

    def next_result() -> tuple[Summary, Any]:
        (result,), _ = ray.wait([*running])
        actor = running.pop(result)
        try:
            return ray.get(result), actor
        except ray.exceptions.ActorUnavailableError:
            return Summary(), actor
        except ray.exceptions.ActorDiedError as error:
            *_, reason = re.split(r"^[A-Za-z_.]+: ", str(error), flags=re.MULTILINE)
            raise RuntimeError(Errors.F471.format(reason=reason.strip())) from error

    with ray_running(cluster) as ray:
        if cluster.actors * cluster.gpus > ray.cluster_resources().get("GPU", 0):
            raise ValueError(Errors.F484)
        retries = {"max_restarts": -1, "max_task_retries": MAX_RETRIES}
        make = ray.remote(num_cpus=1, num_gpus=cluster.gpus, **retries)(Annotator).remote
        for shard in shards:
            if not shard.rows:
                yield Summary(names=shard.names, unread=shard.unread)
                continue
            if len(running) < cluster.actors:
                actor = make(settings, folder.address)
            else:
                summary, actor = next_result()
                yield summary
            running[actor.annotate.remote(shard)] = actor
        while running:
            yield next_result()[0]


@contextmanager
def ray_running(cluster: Cluster) -> Iterator[Any]:
    """Start Ray or join a cluster, without its messages. Raises ConnectionError (F470) if that is
    not possible."""
    # Read on import: no usage reports and messages.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
    import ray

    options: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": "CRITICAL",
        "runtime_env": {"env_vars": {"OMP_NUM_THREADS": "1"}},
    }
    if not cluster.address:
        options["num_cpus"] = cluster.actors
        options["object_store_memory"] = OBJECT_STORE
        options["include_dashboard"] = False
    try:
        ray.init(cluster.address or "local", **options)
    except Exception as error:
        address = cluster.address or "this machine"
        raise ConnectionError(Errors.F470.format(address=address, reason=error)) from error
    try:
        yield ray
    finally:
        ray.shutdown()
