"""`python -m spacy flat calibrate`: fit a pipeline's probabilities to how often it is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from wasabi import msg

from ..util.files import replacing, require_exists
from ..util.messages import counted
from ._components import choose
from ._options import Component, Device, Pipeline, check_target, several

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.training import Example

MIN_EXAMPLES = 100  # entities or pairs


def calibrate(
    model: Pipeline,
    corpus: Annotated[
        Path,
        typer.Argument(
            metavar="DEV.spacy", help="Texts or pairs that the pipeline was not trained on"
        ),
    ],
    output: Annotated[
        Path,
        typer.Argument(metavar="OUT", file_okay=False, help="Folder for the calibrated pipeline"),
    ],
    component: Component = "",
    more: Annotated[
        list[str] | None, typer.Option("--also", metavar="DEV.spacy,...", help="Further examples")
    ] = None,
    device: Device = "",
) -> None:
    """Calibrate the probabilities of entities, or of the classes of pairs, and save the pipeline to
    OUT.

    Fits a temperature (Guo et al., 2017) to the examples of DEV.spacy and, for two classes of
    pairs, the weight of the cosine of two texts, a bias and the threshold.

    The report has the expected calibration error and the negative log-likelihood on the same
    examples, before and after.
    """
    from ..corpora.docs import read_examples
    from ..loading import load_on_device

    paths = [corpus, *map(Path, several(more))]
    require_exists(*paths)  # before the pipeline is loaded
    nlp = load_on_device(model, device)
    check_target(output, nlp.path)
    able = {name: pipe for name, pipe in nlp.pipeline if hasattr(pipe, "calibrate")}
    pipe: Any = choose(able, component, model, "component to calibrate")
    examples = [each for path in paths for each in read_examples(path, nlp)]
    if not hasattr(pipe, "components_before"):  # that of pairs calls them itself
        call_before(nlp, pipe.name, examples)
    found = pipe.calibrate(examples)
    pipe.write_settings(nlp.get_pipe_config(pipe.name))
    with replacing(output) as temporary:
        nlp.to_disk(temporary)
    report(found)
    msg.good(str(output))


def report(found: Any) -> None:
    """Print what a calibration changed, and warn if it had too few examples."""
    is_of_entities = hasattr(found, "entities")
    number = found.entities if is_of_entities else found.pairs
    rows = [
        ("temperature", found.temperature_before, found.temperature_after),
        ("expected calibration error", found.ece_before, found.ece_after),
        ("negative log-likelihood", found.nll_before, found.nll_after),
    ]
    cells = [(name, f"{before:.4f}", f"{after:.4f}") for name, before, after in rows]
    msg.table(cells, header=("", "before", "after"), divider=True, aligns=("l", "r", "r"))
    if number < MIN_EXAMPLES:
        size = counted(number, "entity" if is_of_entities else "pair")
        msg.warn(f"Only {size}: the probabilities may be wrong on other texts")
    if not is_of_entities and found.threshold is not None:
        weights = f"Weight of the cosine {found.cosine:.4f}, bias {found.bias:.4f}"
        msg.info(f"{weights}, threshold {found.threshold:.4f}")


def call_before(nlp: Language, name: str, examples: Sequence[Example]) -> None:
    """Call the components before this one, which may need their vectors."""
    with nlp.select_pipes(enable=nlp.pipe_names[: nlp.pipe_names.index(name)]):
        docs = nlp.pipe([example.predicted for example in examples])
        for example, doc in zip(examples, docs, strict=True):
            example.predicted = doc
