"""`python -m spacy flat lattice`: the lattice over a text as an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing
from ..viz.lattice import MOST_DRAWN, draw
from ._lexicon import load_source
from ._options import Component
from ._texts import check_output, check_text


def lattice(
    source: Annotated[
        str, typer.Argument(help='Pipeline package or folder, word list, or "" for jieba\'s')
    ],
    content: Annotated[str, typer.Argument(metavar="TEXT", help="Text to draw")],
    output: Annotated[
        Path, typer.Argument(metavar="OUT.html", help="Page to write", dir_okay=False)
    ],
    component: Component = "",
) -> None:
    """Draw the lattice over a text: its characters, and the lexicon words that match them.

    Each word shows its head and tail, the positions of its first and last character (Li et al.,
    ACL 2020, figure 1). With a pipeline, entities are shown, too.
    """
    check_text(content)
    if len(content) > MOST_DRAWN:
        raise ValueError(Errors.F161.format(length=len(content), limit=MOST_DRAWN))
    check_output(output, ".html")
    lexicon, nlp = load_source(source, component=component)
    matches = lexicon.match([content])
    words = list(zip(matches.starts.tolist(), matches.ends.tolist(), strict=True))
    entities = nlp(content)._.char_ents if nlp else []
    with replacing(output) as temporary:
        temporary.write_text(draw(content, words, entities), encoding="utf-8")
    counts = f"characters {len(content)}, words {len(words)}"
    msg.good(f"{output}: {counts}" + (f", entities {len(entities)}" if nlp else ""))
