"""`python -m spacy flat alignment`: what a pipeline aligns in two texts as an SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..util.files import replacing
from ._components import PAIRS, load_component
from ._options import Component, Device, Pipeline
from ._texts import check_output, check_text


def alignment(
    model: Pipeline,
    left: Annotated[str, typer.Argument(help="The left text, drawn from top to bottom")],
    right: Annotated[str, typer.Argument(help="The right text, drawn from left to right")],
    output: Annotated[
        Path, typer.Argument(metavar="OUT.svg", help="Picture to write", dir_okay=False)
    ],
    component: Component = "",
    device: Device = "",
) -> None:
    """Draw heat maps of what a pipeline aligns in two texts: the attention of each block, in both
    directions.

    The darker a cell, the more its two units are compared. Only the first 40 units of each text
    are drawn.
    """
    from ..similarity.component import PairClassifier

    check_text(left)
    check_text(right)
    check_output(output, ".svg")
    _, classifier = load_component(model, PairClassifier, component, device, PAIRS)
    found = classifier.align(left, right)
    with replacing(output) as temporary:
        temporary.write_text(found.to_svg(), encoding="utf-8")
    sizes = f"{len(found.left)} × {len(found.right)} units"
    msg.good(f"{output}: {sizes}, blocks {len(found.blocks)}")
