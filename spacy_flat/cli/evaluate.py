"""`python -m spacy flat evaluate`: the scores of a pipeline, and what they were measured on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..files import replacing

PARTS = ("test", "dev")  # the first that there is gets scored
FEW = 1000  # entities below which a score is said to be uncertain


def evaluate(
    model: Annotated[str, typer.Argument(help="Pipeline package or folder")],
    corpus_dir: Annotated[
        Path, typer.Argument(help="Folder of .spacy files, as `convert --corpus` makes it")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="JSON file of the scores", dir_okay=False)
    ],
    gpu_id: Annotated[int, typer.Option("--gpu-id", "-g", help="GPU, or -1 for the CPU")] = -1,
) -> None:
    """Score a pipeline on the test part of a corpus, or on its dev part where it has no test part.

    The scores are those of `spacy evaluate`. The JSON file also tells the part, and how many
    sentences and entities it has.
    """
    import srsly
    from spacy.cli.evaluate import evaluate as spacy_evaluate

    part, path = evaluation_file(corpus_dir)
    sentences, entities = count_entities(path)
    msg.info(f"Scored on {path}: {sentences:,} sentences, {entities:,} entities")
    scores = spacy_evaluate(model, path, use_gpu=gpu_id, silent=False)
    measured = {"part": part, "sentences": sentences, "entities": entities, **scores}
    with replacing(output) as temporary:
        srsly.write_json(temporary, measured)
    msg.good(f"{output}: F1 {scores['ents_f'] or 0.0:.4f} on {part}")
    if part == "dev":
        msg.warn("Training chose its best weights on dev: the score is a little too high.")
    if entities < FEW:
        msg.warn(f"Only {entities:,} entities were scored: the score is uncertain by some points.")


def evaluation_file(corpus_dir: Path) -> tuple[str, Path]:
    """Return the part of a corpus to score on, and its file. Raises ValueError (F132)."""
    for part in PARTS:
        path = corpus_dir / f"{part}.spacy"
        if path.is_file():
            return part, path
    raise ValueError(Errors.F132.format(folder=corpus_dir))


def count_entities(path: Path) -> tuple[int, int]:
    """Return how many Docs and entities a .spacy file has."""
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    entities = [len(doc.ents) for doc in DocBin().from_disk(path).get_docs(Vocab())]
    return len(entities), sum(entities)
