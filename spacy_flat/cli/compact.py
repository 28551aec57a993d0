"""`python -m spacy flat compact`: make a trained pipeline smaller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing, require_exists
from ._options import Device, Pipeline, check_target, several

if TYPE_CHECKING:
    from spacy.language import Language

    from ..compress.compactor import Compactor


def compact(
    pipeline: Pipeline,
    out: Annotated[Path, typer.Argument(help="Folder for the compact pipeline", file_okay=False)],
    texts: Annotated[
        list[str] | None,
        typer.Option(
            "--text", "-t", help="Texts to count rows in: .spacy, or plain text, .gz or .xz"
        ),
    ] = None,
    min_count: Annotated[
        int,
        typer.Option(
            "--min-count", "-m", min=0, help="Drop rows that occur less often in the texts"
        ),
    ] = 0,
    max_size: Annotated[
        float | None,
        typer.Option("--max-size", "-s", min=0.001, help="Drop rows to reach this size in MB"),
    ] = None,
    bits: Annotated[
        int, typer.Option("--bits", "-b", help="Bits per number: 4 to 8, 16 or 32")
    ] = 8,
    dev: Annotated[
        Path | None, typer.Option("--dev", "-d", help=".spacy file to evaluate on before and after")
    ] = None,
    device: Device = "",
) -> None:
    """Make a trained pipeline smaller: merge the pretrained and the trained part of each vector,
    drop rows that are rare in the texts, and store numbers in 8 bits.

    The result is an ordinary pipeline, but the rows of its tables stay fixed in further training.
    Only flat_ner and tener_ner have rows to drop. In the other components of this package, all
    matrices are stored in fewer bits, and encoders in 7 or more. Other components stay unchanged.
    """
    from ..compress.compactor import Compactor, size_of_folder, size_on_disk
    from ..corpora.docs import read_texts
    from ..loading import load_on_device

    paths = [Path(text) for text in several(texts)]
    require_exists(*paths, *([dev] if dev else []))
    nlp = load_on_device(pipeline, device)
    check_target(out, nlp.path)
    compactor = Compactor(nlp)
    if (min_count > 0 or max_size) and compactor.components and not paths:
        raise ValueError(Errors.F371)  # before anything is scored
    for path in paths if compactor.components else ():
        compactor.count(tqdm(read_texts(path), desc=path.name, unit=" texts", unit_scale=True))
    before = state_of(compactor, size_of_folder(nlp.path), dev)
    used = compactor.apply(bits, min_count, max_size and 1e6 * max_size)
    after = state_of(compactor, size_on_disk(nlp), dev)
    forget_paths(nlp)
    with replacing(out) as temporary:
        nlp.to_disk(temporary)
    rows = [(name, value, after.get(name, "")) for name, value in before.items()]
    msg.table(rows, header=("", "before", "after"), divider=True, aligns=("l", "r", "r"))
    if used and paths:
        msg.info(f"Kept rows that occur at least {used:,} times in the texts")
    msg.good(str(out))


def state_of(compactor: Compactor, size: int, dev: Path | None) -> dict[str, str]:
    """Rows, size and scores, to compare. The scores go to the pipeline's metadata, too."""
    from ..corpora.docs import read_examples

    nlp = compactor.nlp
    state = {table: f"{rows:,}" for table, rows in compactor.rows().items()}
    state["MB"] = f"{size / 1e6:.2f}"
    if dev is not None:
        with nlp.memory_zone():  # so that the texts aren't added to the pipeline's vocabulary
            scores = nlp.evaluate(read_examples(dev, nlp))
        nlp.meta["performance"] = {k: v for k, v in scores.items() if k != "speed"}
        weights = nlp.config["training"]["score_weights"]  # by which training chooses the best
        main = [name for name, weight in weights.items() if weight and name in scores]
        state |= {name: f"{scores[name]:.4f}" for name in main if scores[name] is not None}
    return state


def forget_paths(nlp: Language) -> None:
    """Drop the paths of the training, except those that a component's block refers to."""
    from thinc.api import Config

    paths: dict[str, Any] = nlp.config.get("paths", {})
    components = Config({"components": nlp.config["components"]}).to_str(interpolate=False)
    unused = [name for name in paths if f"${{paths.{name}" not in components]
    paths.update(dict.fromkeys(unused))
