"""`python -m spacy flat convert`: corpus files to `.spacy`."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpora.convert import ConvertOptions, Summary, convert_file
from ..corpora.fetch import corpus_files
from ..corpora.sources import get_source
from ._failure import exit_on


class Format(str, Enum):
    """The formats of corpus files."""

    auto = "auto"
    bio = "bio"
    bmes = "bmes"
    bioes = "bioes"
    cluener = "cluener"


def convert(
    input_path: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="Corpus file, or with --corpus the folder of `fetch`", exists=True
        ),
    ],
    output_path: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help=".spacy file, or with --corpus the folder for one of each part"
        ),
    ],
    corpus: Annotated[
        str, typer.Option("--corpus", "-c", help="Convert all parts of this fetched corpus")
    ] = "",
    format: Annotated[
        Format,
        typer.Option("--format", "-f", help="Format of the file (auto: told by its content)"),
    ] = Format.auto,
    words: Annotated[
        bool, typer.Option("--words", "-w", help="Units are words with a space between them")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", "-r", help="Repair what is wrong and count it")
    ] = False,
    strip_position: Annotated[
        bool, typer.Option("--strip-position", help="Strip digits after each unit (Weibo: 科0)")
    ] = False,
    strip_prefix: Annotated[
        str, typer.Option("--strip-prefix", help="Strip this before each unit (WikiANN: en:)")
    ] = "",
) -> None:
    """Convert an NER corpus to spaCy's binary format, each sentence a Doc.

    Reads column files with BIO, BMES or BIOES tags, and CLUENER's JSON lines, in UTF-8. Defects
    end the command with file and line, unless --repair is given.
    """
    options = ConvertOptions(format.value, words, repair, strip_prefix, strip_position)
    with exit_on(ValueError, OSError):
        if not corpus:
            report(output_path, convert_file(input_path, output_path, options))
            return
        if options != ConvertOptions():
            raise typer.BadParameter("--corpus knows the corpus's options: give no others.")
        for part, path in corpus_files(corpus, input_path).items():
            target = output_path / f"{part}.spacy"
            report(target, convert_file(path, target, get_source(corpus).options))


def report(path: Path, summary: Summary) -> None:
    """Print what a converted file holds."""
    msg.good(f"{path}: {summary.sentences:,} sentences, {summary.characters:,} characters")
    msg.info(f"{sum(summary.entities.values()):,} entities{listed(summary.entities)}")
    if summary.repairs:
        msg.warn(f"{sum(summary.repairs.values()):,} repairs{listed(summary.repairs)}")


def listed(counts: Counter[str]) -> str:
    """Return ": A 3, B 1", the most frequent first, or nothing where there are none."""
    return ": " * bool(counts) + ", ".join(f"{key} {n:,}" for key, n in counts.most_common())
