"""`python -m spacy flat annotate`: annotate many texts with one or several processes."""

from __future__ import annotations

import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors
from ..util.files import require_exists
from ..util.messages import counted
from ._options import Device, Pipeline, require_installed, several, several_paths

if TYPE_CHECKING:
    from ..annotate.run import RunSummary


def annotate(
    pipeline: Pipeline,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Files or folders of texts (.jsonl, .txt, also .gz; .parquet), or "
            "addresses such as s3://bucket/folder",
        ),
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="Folder to write to, or its address")],
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            "-a",
            metavar="NAME[:TYPE],...",
            help="doc._ attribute to write to a column of this type: text (JSON if not a "
            "string), float, int or bool",
        ),
    ] = None,
    text: Annotated[str, typer.Option("--text", help="Key or column of the texts")] = "text",
    id: Annotated[str, typer.Option("--id", help="Key or column of the ids")] = "id",
    code: Annotated[
        list[Path] | None,
        typer.Option(
            "--code",
            "-c",
            help="Python file with registered functions of the pipeline",
        ),
    ] = None,
    actors: Annotated[
        int,
        typer.Option(
            help="Processes with one pipeline each; 0 for one per CPU (or GPU). 0 and 1 also work "
            "without Ray",
            min=0,
        ),
    ] = 0,
    gpus_per_actor: Annotated[
        float, typer.Option(help="GPUs per actor; can be a fraction", min=0.0)
    ] = 0.0,
    device: Device = "",
    address: Annotated[
        str, typer.Option(help="Ray cluster to join, for example auto or 10.0.0.1:6379")
    ] = "",
    batch_size: Annotated[int, typer.Option(help="Characters to annotate at once", min=1)] = 50_000,
    shard_rows: Annotated[
        int, typer.Option(help="Maximum number of rows per output file", min=1)
    ] = 2000,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-V", help="Show Ray's own messages and progress")
    ] = False,
) -> None:
    """Annotate large numbers of texts in one or several processes, or on a Ray cluster.

    OUT/rows gets a file for each shard of the input: id, text, entities, cats, the requested
    attributes, and the error of rows that fail; the exit code is 1 then. To continue an interrupted
    run, repeat the command: it skips finished shards.
    """
    require_installed("pyarrow", "Annotating", "pyarrow")
    from ..annotate.run import Cluster, run
    from ..annotate.settings import Settings

    cluster = None
    if actors > 1 or address:
        for module in ("ray", "pandas"):
            require_installed(module, "Annotating in several processes", "spacy-flat[distributed]")
    if actors != 1 or address:
        if find_spec("ray") and find_spec("pandas"):
            cluster = Cluster(address, actors, gpus_per_actor, verbose)
        else:
            msg.info("Without Ray and pandas: annotating in one process")
    code_paths = several_paths(code)
    require_exists(*code_paths)
    settings = Settings(
        pipeline=str(Path(pipeline).resolve()) if Path(pipeline).is_dir() else pipeline,
        code=tuple(str(path.resolve()) for path in code_paths),
        text=text,
        id=id,
        attributes=several(attributes),
        shard_rows=shard_rows,
        batch_size=batch_size,
        gpu=gpus_per_actor > 0,
        device=device,
    )
    with tqdm(unit="B", unit_scale=True, disable=verbose) as bar:
        summary = run(inputs, out, settings, cluster, partial(show, bar))
    report(out, summary)


def show(bar: tqdm, done: float, total: float) -> None:
    """Show how much of the input is done."""
    bar.total = total
    bar.update(round(done) - bar.n)


def report(out: str, summary: RunSummary) -> None:
    """Print the result of a run, and exit with 1 if rows failed or are left."""
    msg.good(f"{out}: {counted(summary.rows, 'row')} annotated in this run")
    problems = [*summary.unread]
    if summary.unfinished:
        names, count = ", ".join(summary.unfinished[:3]), len(summary.unfinished)
        problems.append(Errors.F482.format(count=count, shards=summary.shards, names=names))
    if summary.failed:
        failed = counted(summary.failed, "row")
        problems.append(Errors.F483.format(count=failed, path=f"{out}/rows"))
    for problem in problems:
        msg.fail(problem)
    if problems:
        sys.exit(1)
