"""`python -m spacy flat lexicon`: show the contents of a lexicon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from wasabi import msg

from ..util.arrays import Int32s
from ..util.plural import counted
from ._lexicon import load_lexicon
from ._options import Component
from ._table import print_table

if TYPE_CHECKING:
    from ..lexicon import Lexicon

SHOWN = 15  # rows of a table of counts
PROPERTIES = ("source", "type", "frequency", "trust")


def lexicon(
    source: Annotated[
        str, typer.Argument(help="Pipeline package or folder, or word list (default: jieba's)")
    ] = "",
    component: Component = "",
    words: Annotated[
        list[str], typer.Option("--word", "-w", help="Look up this word (may be repeated)")
    ] = [],  # noqa: B006  (typer's way)
    texts: Annotated[
        list[str], typer.Option("--text", "-t", help="Show the words in this text")
    ] = [],  # noqa: B006
) -> None:
    """Count a lexicon's words by source, type and length, look up words, and find them in texts."""
    found = load_lexicon(source, component=component)
    show_counts(found)
    if words:
        rows = [(word, *properties(found, word)) for word in words]
        print_table(rows, header=("word", *PROPERTIES), divider=True)
    for text in texts:
        show_matches(found, text)


def show_counts(lexicon: Lexicon) -> None:
    alive = lexicon.alive
    removed = int((~alive).sum())
    msg.info(counted(len(lexicon), "word") + (f", {removed:,} removed" if removed else ""))
    left_out = ", ".join(f"{n:,} {fault}" for fault, n in lexicon.dropped.items() if n)
    if left_out:
        msg.text(f"left out: {left_out}")
    show_table("source", named(lexicon.origins[alive], lexicon.origin_names))
    show_table("type", named(lexicon.types[alive], lexicon.type_names))
    lengths = Counter(lexicon.lengths[alive].tolist())
    show_table("characters", {str(length): n for length, n in sorted(lengths.items())})


def named(numbers: Int32s, names: Sequence[str]) -> dict[str, int]:
    """Counts by name, the most frequent first."""
    counts = np.bincount(numbers, minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    return {names[n] or "(unknown)": int(counts[n]) for n in order if counts[n]}


def show_table(title: str, counts: dict[str, int]) -> None:
    """Print the first rows of a table, and the number of the others."""
    rows = [(name, f"{n:,}") for name, n in counts.items()][:SHOWN]
    print_table(rows, header=(title, "words"), divider=True, aligns=("l", "r"))
    if len(counts) > SHOWN:
        rest = sum(list(counts.values())[SHOWN:])
        msg.text(f"and {len(counts) - SHOWN:,} more, with {counted(rest, 'word')}")


def properties(lexicon: Lexicon, word: str) -> tuple[str, ...]:
    """`PROPERTIES` of a word; dashes where it is not in the lexicon."""
    id = lexicon.index(word)
    if id < 0:
        return "not in the lexicon", "–", "–", "–"
    frequency, trust = lexicon.frequencies[id], lexicon.trusts[id]
    return (
        lexicon.origin_names[lexicon.origins[id]],
        lexicon.type_names[lexicon.types[id]] or "(unknown)",
        f"{frequency:g}" if frequency >= 0 else "(unknown)",
        f"{trust:g}" if trust >= 0 else "(default)",
    )


def show_matches(lexicon: Lexicon, text: str) -> None:
    matches = lexicon.match([text])
    msg.divider(text)
    rows = [
        (f"{start}–{end}", *properties(lexicon, lexicon.word(id)), text[start:end])
        for start, end, id in zip(
            matches.starts.tolist(), matches.ends.tolist(), matches.words.tolist(), strict=True
        )
    ]
    if rows:
        header = ("characters", *PROPERTIES, "word")
        print_table(rows, header=header, divider=True)
    else:
        msg.text("no words")
