"""`python -m spacy flat compact`: make a trained pipeline smaller."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing, require_exists
from ._options import Device, Pipeline, check_target, several_paths
from ._table import print_table

if TYPE_CHECKING:
    from spacy.language import Language

    from ..compress.compactor import Compactor

PREFIXES = "KMG"  # of bytes
MAX_LOSS = 0.02  # of a score
MAX_LEFT = 0.99  # of the size, for a pipeline that became smaller


def compact(
    pipeline: Pipeline,
    out: Annotated[Path, typer.Argument(help="Folder for the compact pipeline", file_okay=False)],
    texts: Annotated[
        list[Path] | None,
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
        str, typer.Option("--max-size", "-s", help="Drop rows to reach this size, such as 15MB")
    ] = "",
    bits: Annotated[
        int, typer.Option("--bits", "-b", help="Bits per number: 4 to 8, 16 or 32")
    ] = 8,
    known_words: Annotated[
        bool,
        typer.Option(
            "--known-words/--all-words",
            "-k/-a",
            help="Drop lexicon words that have no row and no label as type",
        ),
    ] = False,
    dev: Annotated[
        Path | None, typer.Option("--dev", "-d", help=".spacy file to evaluate on before and after")
    ] = None,
    device: Device = "",
) -> None:
    """Make a trained pipeline smaller: merge the pretrained and the trained part of each vector,
    drop rows that are rare in the texts, and store numbers in 8 bits.

    The result is an ordinary pipeline, but the rows of its tables stay fixed in further training.
    Only flat_ner and tener_ner have rows to drop. In the other components of this package, all
    matrices are stored in fewer bits, and encoders in 6 or more. Other components stay unchanged.
    """
    from ..compress.compactor import Compactor, CompressConfig, size_of_folder, size_on_disk
    from ..loading import load_on_device

    wanted = CompressConfig(bits, min_count, known_words)  # type: ignore[arg-type]
    limit = bytes_of(max_size) if max_size else None
    paths = several_paths(texts)
    require_exists(*paths, *([dev] if dev else []))
    nlp = load_on_device(pipeline, device)
    check_target(out, nlp.path)
    compactor = Compactor(nlp)
    if (min_count > 0 or limit is not None) and compactor.components and not paths:
        raise ValueError(Errors.F371)  # before anything is scored
    for path in paths if compactor.components else ():
        count(path, compactor)
    size = size_of_folder(nlp.path)
    before = state_of(compactor, size, dev)
    amount = compactor.apply(wanted, limit)
    after = state_of(compactor, size_on_disk(nlp), dev)
    forget_paths(nlp)
    with replacing(out) as temporary:
        nlp.to_disk(temporary)
    rows = [(name, value, after.get(name, "")) for name, value in before.items()]
    print_table(rows, header=("", "before", "after"), divider=True, aligns=("l", "r", "r"))
    if amount.min_count:
        msg.info(f"Kept rows that occur at least {amount.min_count:,} times in the texts")
    report(out, nlp, before, after, size_of_folder(out) / size)


def bytes_of(size: str) -> float:
    """ "15MB" → 15,000,000, "1 MiB" → 1,048,576; megabytes without a unit. Raises
    ValueError (F374)."""
    found = re.fullmatch(rf"(\d+(?:\.\d+)?)\s*(?:([{PREFIXES}])(I?)B)?", size.strip().upper())
    if not found:
        raise ValueError(Errors.F374.format(value=size))
    power = 1 + PREFIXES.index(found[2] or "M")
    return float(found[1]) * (1024.0 if found[3] else 1000.0) ** power


def count(path: Path, compactor: Compactor) -> None:
    """Count the rows that the texts of a file read. Raises ValueError (F376) if there are none."""
    from ..corpora.docs import read_texts

    texts = tqdm(read_texts(path), desc=path.name, unit=" texts", unit_scale=True)
    if not compactor.count(texts):
        raise ValueError(Errors.F376.format(path=path))


def state_of(compactor: Compactor, size: int, dev: Path | None) -> dict[str, str]:
    """Rows, words, size and scores, to compare. The scores go to the pipeline's metadata, too."""
    from ..corpora.docs import read_examples

    nlp = compactor.nlp
    state = {table: f"{rows:,}" for table, rows in compactor.rows().items()}
    for name, pipe in nlp.pipeline:
        if (lexicon := getattr(pipe, "lexicon", None)) is not None:
            state[f"{name}: words of the lexicon"] = f"{len(lexicon):,}"
    state["MB"] = f"{size / 1e6:.2f}"
    if dev is not None:
        with nlp.memory_zone():  # so that the texts aren't added to the pipeline's vocabulary
            scores = nlp.evaluate(read_examples(dev, nlp))
        nlp.meta["performance"] = {k: v for k, v in scores.items() if k != "speed"}
        for name in main_scores(nlp):
            if scores.get(name) is not None:
                state[name] = f"{scores[name]:.4f}"
    return state


def main_scores(nlp: Language) -> list[str]:
    """The scores that choose the best weights in training."""
    weights = nlp.config["training"]["score_weights"]
    return [name for name, weight in weights.items() if weight]


def forget_paths(nlp: Language) -> None:
    """Drop the paths of the training, except those that a component's block refers to."""
    from thinc.api import Config

    paths: dict[str, Any] = nlp.config.get("paths", {})
    components = Config({"components": nlp.config["components"]}).to_str(interpolate=False)
    unused = [name for name in paths if f"${{paths.{name}" not in components]
    paths.update(dict.fromkeys(unused))


def report(
    out: Path, nlp: Language, before: dict[str, str], after: dict[str, str], left: float
) -> None:
    """Say that it is done, and warn of scores that fell and of a pipeline that is hardly smaller.

    left: the share of its size that is left.
    """
    lost = [
        f"{name} {before[name]} before, {after[name]} after"
        for name in main_scores(nlp)
        if name in before.keys() & after.keys()
        if float(before[name]) - float(after[name]) > MAX_LOSS
    ]
    if lost:
        msg.warn(
            f"{out}: written, but less accurate: {', '.join(lost)}.",
            "Keep more rows (a larger --max-size, a lower --min-count, or more texts in --text), "
            "or more --bits.",
        )
    elif left > MAX_LEFT:
        msg.warn(
            f"{out}: written, but hardly smaller.",
            "It may be compact already. Lower --bits, or drop rows with --text and --min-count.",
        )
    else:
        msg.good(str(out))
