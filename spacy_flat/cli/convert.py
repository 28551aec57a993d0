"""`python -m spacy flat convert`: corpus files to `.spacy`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpora.convert import FORMATS, Summary, convert_file
from ..corpora.parts import convert_corpus
from ..corpora.tables import ConvertOptions
from ..util.plural import counted


def convert(
    input_path: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="Corpus file, or with --corpus the output folder of `fetch`",
            exists=True,
        ),
    ],
    output_path: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help=".spacy file, or with --corpus a folder for the parts"
        ),
    ],
    corpus: Annotated[
        str, typer.Option("--corpus", "-c", help="Convert all parts of this fetched corpus")
    ] = "",
    format: Annotated[
        str,
        typer.Option(
            "--format", "-f", help=f"Format of the file: {', '.join(FORMATS)}, or auto, by content"
        ),
    ] = "auto",
    words: Annotated[
        bool, typer.Option("--words", "-w", help="Units are words, joined by spaces")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", "-r", help="Repair defects and count them")
    ] = False,
    max_repairs: Annotated[
        float, typer.Option(help="Largest share of lines or entities to repair", min=0.0, max=1.0)
    ] = 0.05,
    strip_position: Annotated[
        bool, typer.Option("--strip-position", help="Strip digits after each unit (Weibo: 科0)")
    ] = False,
    strip_prefix: Annotated[
        str, typer.Option("--strip-prefix", help="Strip this before each unit (WikiANN: en:)")
    ] = "",
    scores: Annotated[
        bool, typer.Option("--scores", help="Labels of pairs are scores, not classes")
    ] = False,
    target: Annotated[
        Path | None,
        typer.Option("--target", "-t", help="File with the translation of each line", exists=True),
    ] = None,
    max_length: Annotated[
        int, typer.Option(help="Maximum length of a text or translation", min=1)
    ] = 1000,
    coarse: Annotated[
        list[str] | None,
        typer.Option(
            help="Labels that an entity label stands for: ORG=ORG,COMPANY; EDU= drops its entities "
            "(may be repeated)"
        ),
    ] = None,
    longest: Annotated[
        list[str] | None,
        typer.Option(
            help="Characters of the longest entity of a label to keep: address=4; longer ones "
            "become missing annotation (may be repeated)"
        ),
    ] = None,
    unannotated: Annotated[
        str, typer.Option(help="Labels that the file doesn't annotate, separated by commas")
    ] = "",
    general: Annotated[
        bool, typer.Option("--general", help="With --corpus: use the labels of zh_flat_general")
    ] = False,
) -> None:
    """Convert corpora of entities, pairs of texts, poems or translations to spaCy's binary format.

    Formats: column files with BIO, IOB1, BMES, BIOES or BILUO tags; JSON with character offsets
    (CLUENER, spaCy, doccano, Label Studio, Prodigy); pairs in TSV, CSV or JSON; poems separated by
    blank lines, or in JSON; translations in TSV or, with --target, in two files line by line; any
    texts, one per line, with --format lines. JSON has one record per line, or one array. All files
    are UTF-8. Without --repair, a defect raises an error that names the file and line.
    """
    options = ConvertOptions(
        format=format,
        repair=repair,
        max_repairs=max_repairs,
        words=words,
        strip_prefix=strip_prefix,
        strip_position=strip_position,
        scores=scores,
        target=target,
        max_length=max_length,
        coarse=tuple(coarse or ()),
        longest=tuple(longest or ()),
        unannotated=tuple(filter(None, map(str.strip, unannotated.split(",")))),
    )
    if not corpus:
        if general:
            raise typer.BadParameter("--general needs --corpus.")
        report(output_path, convert_file(input_path, output_path, options))
        return
    if options != ConvertOptions():
        raise typer.BadParameter("--corpus knows the corpus's options: give no others.")
    for path, summary in convert_corpus(corpus, input_path, output_path, general):
        report(path, summary)


def report(path: Path, summary: Summary) -> None:
    """Print the counts of a converted file, and its beginning after repairs."""
    sizes = counted(summary.sentences, summary.doc), counted(summary.characters, "character")
    msg.good(f"{path}: {', '.join(sizes)}")
    msg.info(counted(sum(summary.labels.values()), summary.label) + listed(summary.labels))
    if summary.left_out:
        left_out = counted(summary.left_out, summary.doc)
        msg.info(f"{left_out} left out: in another part or corpus, or repeated")
    for part, (known, total) in summary.shared.items():
        msg.info(f"{known:,} of the {counted(total, 'text')} of {part} are also here")
    if summary.skipped:
        skipped = counted(summary.skipped, "record")
        msg.info(f"{skipped} skipped: without text, not annotated, or rejected by the annotator")
    if summary.repairs:
        msg.warn(counted(sum(summary.repairs.values()), "repair") + listed(summary.repairs))
        msg.text("The file starts with:")
        for line in summary.sample:
            msg.text(f"  {line}")


def listed(counts: Counter[str]) -> str:
    """ ": A 3, B 1", the most frequent first, or nothing."""
    return ": " * bool(counts) + ", ".join(f"{key} {n:,}" for key, n in counts.most_common())
