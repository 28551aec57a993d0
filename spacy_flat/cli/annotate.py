"""`python -m spacy flat annotate`: annotate many texts with one or several processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors
from ..util.files import UTF_8, encoded_in
from ..util.messages import counted
from ..util.options import require_installed
from ._options import Device, Encoding, Pipeline, several

if TYPE_CHECKING:
    from ..annotate.run import Summary


def annotate(
    pipeline: Pipeline,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Files or folders of texts (.jsonl, .txt, .csv, .tsv, also .gz; .parquet), or "
            "addresses such as s3://bucket/folder",
        ),
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="Folder to write to, or its address")],
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            "-a",
            metavar="NAME,...",
            help="doc._ attribute to write to a column; as JSON if it isn't a string",
        ),
    ] = None,
    text: Annotated[str, typer.Option("--text", help="Key or column of the texts")] = "text",
    id: Annotated[str, typer.Option("--id", help="Key or column of the ids")] = "id",
    encoding: Encoding = UTF_8,
    code: Annotated[
        Path | None,
        typer.Option(
            "--code", "-c", help="Python file with registered functions to import", exists=True
        ),
    ] = None,
    actors: Annotated[
        int, typer.Option(help="Processes with one pipeline each; more than one need Ray", min=1)
    ] = 1,
    gpus_per_actor: Annotated[
        float, typer.Option(help="GPUs per actor of Ray; can be a fraction", min=0.0)
    ] = 0.0,
    device: Device = "",
    address: Annotated[
        str, typer.Option(help="Ray cluster to join, for example auto or 10.0.0.1:6379")
    ] = "",
    batch_size: Annotated[int, typer.Option(help="Characters to annotate at once", min=1)] = 50_000,
    shard_rows: Annotated[
        int, typer.Option(help="Maximum number of rows per output file", min=1)
    ] = 2000,
) -> None:
    """Annotate large numbers of texts in one or several processes, or on a Ray cluster.

    OUT/rows gets a file for each shard of the input: id, text, entities, cats, the requested
    attributes, and the error of rows that fail; the exit code is 1 then. To continue an interrupted
    run, repeat the command: it skips finished shards.
    """
    require_installed("Annotating", "pyarrow", "pyarrow")
    from ..annotate.run import Cluster, run
    from ..annotate.settings import Settings

    cluster = None
    if actors > 1 or address or gpus_per_actor:
        require_installed("Annotating in several processes", "ray", "spacy-flat[distributed]")
        cluster = Cluster(actors, address, gpus_per_actor)
    settings = Settings(
        pipeline=str(Path(pipeline).resolve()) if Path(pipeline).is_dir() else pipeline,
        code=str(code.resolve()) if code else "",
        text=text,
        id=id,
        encoding=encoding,
        attributes=several(attributes),
        shard_rows=shard_rows,
        batch_size=batch_size,
        gpu=gpus_per_actor > 0,
        device=device,
    )
    with encoded_in(encoding), tqdm(unit=" rows") as bar:
        summary = run(inputs, out, settings, cluster, bar.update)
    report(out, summary)


def report(out: str, summary: Summary) -> None:
    """Print the result of a run, and exit with 1 if rows failed or are left."""
    msg.good(f"{out}: {counted(summary.rows, 'row')} annotated in this run")
    problems = [*summary.unread]
    if summary.unfinished:
        names, shards = ", ".join(summary.unfinished[:3]), len(summary.names)
        count = len(summary.unfinished)
        problems.append(Errors.F482.format(count=count, shards=shards, names=names))
    if summary.failed:
        failed = counted(summary.failed, "row")
        problems.append(Errors.F483.format(count=failed, path=f"{out}/rows"))
    for problem in problems:
        msg.fail(problem)
    if problems:
        sys.exit(1)
