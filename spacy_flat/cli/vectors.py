"""`python -m spacy flat vectors`: vectors of characters, bigrams and words from raw text."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import require_exists, require_no_file
from ._lexicon import load_lexicon


class Kind(str, Enum):
    """The units that get vectors."""

    char = "char"
    bigram = "bigram"
    word = "word"


class Cutting(str, Enum):
    """How text is split into words."""

    longest = "longest"
    probable = "probable"


def vectors(
    texts: Annotated[
        list[Path], typer.Argument(metavar="TEXT...", help="Text files (UTF-8, plain, .gz or .xz)")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for char.vec.gz, bigram.vec.gz, word.vec.gz")
    ],
    kinds: Annotated[
        list[Kind], typer.Option("--kind", "-k", help="Only train these (may be repeated)")
    ] = list(Kind),  # noqa: B006  (typer's way)
    lexicon: Annotated[
        str,
        typer.Option(
            "--lexicon", "-l", help="Word list to add to jieba's, or pipeline whose words to use"
        ),
    ] = "",
    jieba: Annotated[
        bool, typer.Option("--jieba/--no-jieba", help="Add jieba's words to those of a word list")
    ] = True,
    cutting: Annotated[
        Cutting,
        typer.Option("--cut", help="Split words by longest match, or by frequency like jieba"),
    ] = Cutting.longest,
    subwords: Annotated[
        bool,
        typer.Option("--subwords", help="Build word vectors from n-grams, for all known words"),
    ] = False,
    width: Annotated[int, typer.Option(help="Width of the vectors", min=1)] = 50,
    window: Annotated[int, typer.Option(help="Units on each side", min=1)] = 5,
    min_count: Annotated[int, typer.Option(help="Leave out rarer units", min=1)] = 5,
    epochs: Annotated[int, typer.Option(help="Passes over the text", min=1)] = 5,
    workers: Annotated[
        int, typer.Option(help="Threads; with 1, the same seed gives the same files", min=1)
    ] = 1,
    seed: Annotated[int, typer.Option(help="Random seed", min=0)] = 1,
) -> None:
    """Train vectors on raw text, for the [initialize] of a config or `spacy init vectors`.

    Memory depends on the number of distinct units, not on the size of the text. Training needs
    about twice the size of the unpacked text on disk.
    """
    from ..lexicon.cutting import longest_match, most_probable
    from ..vectors.training import VectorOptions, train_vectors

    options = VectorOptions(width, window, min_count, epochs, subwords, workers, seed)
    require_no_file(out)
    if not (lexicon or jieba):
        raise ValueError(Errors.F037)
    require_exists(*texts)  # before the lexicon is built, which takes seconds
    known = load_lexicon(lexicon, add_jieba=jieba)
    cut = (longest_match if cutting is Cutting.longest else most_probable)(known)
    for kind in kinds:
        target = out / f"{kind.value}.vec.gz"
        trained = train_vectors(kind.value, texts, target, known, cut, options, show_progress=True)
        msg.good(
            f"{target}: {trained.vectors:,} vectors of {width} numbers, "
            f"{trained.size / 1e6:.1f} MB, from {trained.units:,} units "
            f"in {trained.seconds:.0f} s"
        )
