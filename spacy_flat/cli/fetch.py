"""`python -m spacy flat fetch`: get the files of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpora.fetch import fetch_corpus
from ..corpora.sources import names_by_task


def fetch(
    corpus: Annotated[str, typer.Argument(help=f"One of {names_by_task()}")],
    out_dir: Annotated[
        Path, typer.Argument(help="Folder in which to create CORPUS/", file_okay=False)
    ],
    source: Annotated[
        str,
        typer.Option(
            "--source",
            "-s",
            help="Local folder with the corpora, such as ner_zh/resume/… (empty: download)",
        ),
    ] = "",
) -> None:
    """Download a published corpus, or copy it from a local folder, to OUT_DIR/CORPUS. Files are
    verified by checksum.
    """
    for path in fetch_corpus(corpus, out_dir, Path(source) if source else None):
        msg.good(str(path))
