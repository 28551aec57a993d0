"""`python -m spacy flat alignment`: what a pipeline aligns in two texts as an SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing
from ._devices import Device
from ._pairs import load_classifier
from ._texts import check_text


def alignment(
    model: Annotated[str, typer.Argument(metavar="PIPELINE", help="Pipeline package or folder")],
    left: Annotated[str, typer.Argument(help="The left text, drawn from top to bottom")],
    right: Annotated[str, typer.Argument(help="The right text, drawn from left to right")],
    output: Annotated[
        Path, typer.Argument(metavar="OUT.svg", help="Picture to write", dir_okay=False)
    ],
    component: Annotated[
        str, typer.Option("--component", "-c", help="The component that compares, if several can")
    ] = "",
    device: Device = "",
) -> None:
    """Draw what a pipeline aligns in two texts: the attention of each block, in both directions,
    as heat maps.

    The darker a cell, the more a unit of one text is compared with that unit of the other. Of each
    text the first 40 units are drawn.
    """
    check_text(left)
    check_text(right)
    if output.suffix != ".svg":
        raise ValueError(Errors.F146.format(path=output))
    _, classifier = load_classifier(model, component, device)
    found = classifier.align(left, right)
    with replacing(output) as temporary:
        temporary.write_text(found.to_svg(), encoding="utf-8")
    sizes = f"{len(found.left)} × {len(found.right)} units"
    msg.good(f"{output}: {sizes}, blocks {len(found.blocks)}")
