"""`python -m spacy flat calibrate`: probabilities of a pipeline for pairs that are right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing, require_exists
from ..util.plural import counted
from ._options import Component, Device, Pipeline
from ._pairs import load_classifier


def calibrate(
    model: Pipeline,
    corpus: Annotated[
        Path,
        typer.Argument(metavar="DEV.spacy", help="Pairs that the pipeline was not trained on"),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Folder for the pipeline, which is made")
    ],
    component: Component = "",
    device: Device = "",
) -> None:
    """Fit a temperature to the pairs of DEV.spacy, so that the probabilities of classes say how
    often they are right (Guo et al., 2017), with two classes also a bias, the threshold, and the
    weights by which `search` orders what it finds, and write the pipeline with them to OUT.

    The report has the expected calibration error and the negative log-likelihood before and after,
    on these same pairs.
    """
    from ..corpora.docs import read_examples

    if output.exists():
        raise ValueError(Errors.F148.format(path=output))
    require_exists(corpus)  # before the pipeline is loaded
    nlp, classifier = load_classifier(model, component, device)
    examples = list(read_examples(corpus, nlp))
    found = classifier.calibrate(examples)
    is_class = found.threshold is not None
    if is_class and any(each.reference.cats.get(classifier.positive) == 1 for each in examples):
        classifier.fit_search(examples)
    with replacing(output) as temporary:
        nlp.to_disk(temporary)
    rows = [
        ("temperature", found.temperature_before, found.temperature_after),
        ("expected calibration error", found.ece_before, found.ece_after),
        ("negative log-likelihood", found.nll_before, found.nll_after),
    ]
    msg.table(
        [(name, f"{before:.4f}", f"{after:.4f}") for name, before, after in rows],
        header=("", "before", "after"),
        divider=True,
        aligns=("l", "r", "r"),
    )
    if found.is_at_limit:
        msg.warn(
            "The temperature is at the limit of what is allowed: the pairs are too few, or all of "
            "them are right, or the pipeline does no better than chance on them."
        )
    if found.threshold is not None:
        msg.info(f"Bias {found.bias:.4f}, threshold {found.threshold:.4f}")
    msg.good(f"{output}: calibrated on {counted(found.pairs, 'pair')}")
