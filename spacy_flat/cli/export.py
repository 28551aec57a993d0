"""`python -m spacy flat export`: entities for correction."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpora.export import WRITERS, read_found, write_found
from ..util.messages import counted


def export(
    input_path: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help=".spacy file, or the folder of flat annotate", exists=True
        ),
    ],
    output_path: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File to write")],
    format: Annotated[
        str, typer.Option("--format", "-f", help=f"Format of the file: {', '.join(WRITERS)}")
    ] = "doccano",
) -> None:
    """Write entities in a format in which people correct them, and that flat convert reads again:
    doccano's JSON lines, Label Studio's JSON with predictions, or BIO columns, with the confidence
    of entities that have one."""
    n = write_found(output_path, format, read_found(input_path))
    msg.good(f"{output_path}: {counted(n, 'text')}")
