"""`python -m spacy flat convert`: corpus files to `.spacy`."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpora.convert import FORMATS, convert_file
from ..corpora.formats import ConvertOptions, Summary
from ..util.files import UTF_8, encoded_in
from ..util.messages import counted
from ._options import Encoding, entries, several


def convert(
    input_path: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Corpus file, or brat's folder", exists=True)
    ],
    output_path: Annotated[Path, typer.Argument(metavar="OUTPUT", help=".spacy file")],
    format: Annotated[
        str,
        typer.Option(
            "--format", "-f", help=f"Format of the file: {', '.join(FORMATS)}; auto for clear ones"
        ),
    ] = "auto",
    words: Annotated[
        bool, typer.Option("--words", "-w", help="Units are words, joined by spaces")
    ] = False,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="N,...", help="Columns of unit and tag (a table's: id, word, tag)"),
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option(help="Names of tags that are numbers, from 0: O,B-PER,…")
    ] = None,
    text: Annotated[str, typer.Option(help="Key of the texts in JSON")] = "text",
    encoding: Encoding = UTF_8,
    repair: Annotated[
        bool,
        typer.Option("--repair", "-r", help="Read defects as usual or as unknown, and count them"),
    ] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="Labels of pairs are scores, not classes")
    ] = False,
    coarse: Annotated[
        list[str] | None,
        typer.Option(
            help="Labels that an entity label stands for: ORG=ORG,COMPANY; EDU= drops its entities"
        ),
    ] = None,
    unannotated: Annotated[
        list[str] | None, typer.Option(help="Labels that the file doesn't annotate")
    ] = None,
) -> None:
    """Convert corpora of entities, pairs of texts, poems or translations to spaCy's binary format.

    Formats: column files with BIO, BMES or BIOES tags; entities as annotation tools and corpora
    have them, such as doccano, Label Studio, brat and CoNLL-U; pairs in TSV or CSV; poems separated
    by blank lines, or in JSON; translations in TSV; any texts, one per line, with --format lines.
    JSON has one record per line, or one array. A defect raises an error that names the file and
    line.

    Several values of an option are separated by commas, or the option is repeated.
    """
    options = ConvertOptions(
        format=format,
        repair=repair,
        words=words,
        columns=several(columns),
        tags=several(tags),
        text=text,
        scores=scores,
        coarse=entries(coarse),
        unannotated=several(unannotated),
    )
    with encoded_in(encoding):
        summary = convert_file(input_path, output_path, options)
    report(output_path, summary)
    if annotated := summary.labels.keys() & {*options.unannotated}:
        labels = ", ".join(sorted(annotated))
        msg.warn(f"--unannotated has {labels}, but the file has such entities. Check the labels.")


def report(path: Path, summary: Summary, left_out: int = 0) -> None:
    """Print the counts of a converted file.

    left_out: Docs that stand in another part of the corpus, or twice.
    """
    sizes = counted(summary.docs, "text"), counted(summary.characters, "character")
    msg.good(f"{path}: {', '.join(sizes)}")
    if summary.labels and not summary.names:
        msg.info(counted(summary.labels.total(), "label") + listed(summary.labels))
    if summary.names:
        rows = []  # Chinese text stands in the last column, as it is wider than wasabi counts
        for label, n in summary.labels.most_common():
            names = sorted(summary.names[label], key=lambda name: (len(name), name))
            ends = ", ".join(f"{' '.join(name.split()):.20}" for name in (names[0], names[-1]))
            lengths = f"{len(names[0])}–{len(names[-1])}"
            rows.append((label, f"{n:,}", f"{len(names):,}", lengths, ends))
        header = ("label", "entities", "different", "characters", "shortest and longest")
        msg.table(rows, header=header, divider=True)
        msg.info(f"{counted(summary.without, 'text')} without entities")
    if left_out:
        what = counted(left_out, "text")
        msg.info(f"{what} left out: in another part or corpus, or repeated")
    if summary.skipped:
        skipped = counted(summary.skipped, "record")
        msg.info(f"{skipped} skipped: without text, not annotated, or rejected by the annotator")
    if summary.repairs:
        msg.warn(counted(summary.repairs.total(), "repair") + listed(summary.repairs))


def listed(counts: Counter[str]) -> str:
    """ ": A 3, B 1", the most frequent first, or nothing."""
    return ": " * bool(counts) + ", ".join(f"{key} {n:,}" for key, n in counts.most_common())
