"""Arguments and options that several commands have."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors
from ..util.files import read_text_lines

Pipeline = Annotated[str, typer.Argument(metavar="PIPELINE", help="Pipeline package or folder")]
Component = Annotated[
    str, typer.Option("--component", "-c", help="Component to use, if the pipeline has several")
]
TextFile = Annotated[
    Path | None,
    typer.Option("--file", "-f", help="File with one text (or pair of texts) per line (UTF-8)"),
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        help="Device of the pipeline's networks: cpu, cuda, cuda:1, mps or auto (default: the "
        "config's)",
    ),
]

Encoding = Annotated[
    str, typer.Option(help="Encoding of text files, such as gb18030, big5 or utf-16")
]


def several(values: Iterable[str] | None) -> tuple[str, ...]:
    """The values of an option that is repeated, or has them separated by commas."""
    parts = (part.strip() for value in values or () for part in value.split(","))
    return tuple(filter(None, parts))


def entries(values: Iterable[str] | None) -> tuple[str, ...]:
    """The same for KEY=VALUE, where a value may have commas, too: "A=X,Y,B=Z" is A=X,Y and B=Z."""
    found: list[str] = []
    for value in values or ():
        for place, part in enumerate(filter(None, map(str.strip, value.split(",")))):
            if place and "=" not in part:
                found[-1] += f",{part}"
            else:
                found.append(part)
    return tuple(found)


def lines_of(path: Path | None) -> Iterator[str]:
    """The lines of a file without white space at their ends; none without a file."""
    return (line.strip() for _, line in read_text_lines(path)) if path else iter(())


def check_target(out: Path, source: Path) -> None:
    """Raise ValueError if a folder has other files (F148), or has the source pipeline (F375)."""
    if source.resolve().is_relative_to(out.resolve()):
        raise ValueError(Errors.F375.format(path=out, source=source))
    check_folder(out, "meta.json")


def check_folder(path: Path, own: str) -> None:
    """Raise ValueError (F148) for a file, and a folder with others than such as `own`."""
    if path.is_file() or (path.is_dir() and any(path.iterdir()) and not (path / own).is_file()):
        raise ValueError(Errors.F148.format(path=path))
