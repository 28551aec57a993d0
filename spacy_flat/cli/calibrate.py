"""`python -m spacy flat calibrate`: fit a pipeline's probabilities to how often it is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from wasabi import msg

from ..errors import Errors
from ..util.files import replacing_folder, require_exists
from ..util.plural import counted
from ._components import choose
from ._options import Component, Device, Pipeline, check_target, several_paths
from ._table import print_table

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.training import Example

TRUSTS = (0.0, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 1.0)
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
        list[Path] | None,
        typer.Option("--also", metavar="DEV.spacy,...", help="Further examples"),
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option(
            "--words",
            "-w",
            help="For flat_ner: names (word TAB frequency TAB type) to add to the lexicon, with "
            "the trust that gives the best F1 on DEV.spacy",
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="For flat_ner: also fit the default trust of added words, to the names in "
            "DEV.spacy",
        ),
    ] = False,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="For pairs: also fit the ranking weights of `search`. DEV.spacy must hold an FAQ: "
            "questions, and the same ones in other words",
        ),
    ] = False,
    device: Device = "",
) -> None:
    """Calibrate the probabilities of entities, or of the classes of pairs, and save the pipeline to
    OUT.

    Fits a temperature (Guo et al., 2017) to the examples of DEV.spacy and, for two classes of
    pairs, the weight of the cosine of two texts, a bias and the threshold. For entities, --words
    first adds a list of names, and --trust temporarily adds the names in DEV.spacy; a table shows
    the F1 for each trust.

    The report has the expected calibration error and the negative log-likelihood on the same
    examples, before and after.
    """
    from ..corpora.docs import read_examples
    from ..loading import load_on_device

    paths = [corpus, *several_paths(more)]
    require_exists(*paths)  # before the pipeline is loaded
    nlp = load_on_device(model, device)
    check_target(output, nlp.path)
    able = {name: pipe for name, pipe in nlp.pipeline if hasattr(pipe, "calibrate")}
    pipe: Any = choose(able, component, model, "component to calibrate")
    if words is not None or trust:
        require_able(pipe, "lexicon", "component with a lexicon", model)
    if search:
        require_able(pipe, "fit_search", "component to search with", model)
    examples = [each for path in paths for each in read_examples(path, nlp)]
    if not hasattr(pipe, "components_before"):  # that of pairs calls them itself
        call_before(nlp, pipe.name, examples)
    if trust:
        msg.divider("Words added without a trust")
        fit_trust(pipe, examples)
    if words is not None:
        msg.divider(f"Words of {words.name}")
        fit(pipe, examples, lambda trust: pipe.lexicon.update(words, trust=trust))
    found = pipe.calibrate(examples)
    if search:
        pipe.fit_search(examples)
    pipe.write_settings(nlp.get_pipe_config(pipe.name))
    with replacing_folder(output) as temporary:
        nlp.to_disk(temporary)
    report(found)
    if not search and ranks_by_network(pipe):
        msg.info(
            "The ranking weights of `search` were fitted to the probabilities before this "
            "calibration. Fit them again with --search."
        )
    msg.good(f"{output}: calibrated on {size_of(found)}")


def report(found: Any) -> None:
    """Print what a calibration changed, and warn if it had too few examples."""
    rows = [
        ("temperature", found.temperature_before, found.temperature_after),
        ("expected calibration error", found.ece_before, found.ece_after),
        ("negative log-likelihood", found.nll_before, found.nll_after),
    ]
    print_table(
        [(name, f"{before:.4f}", f"{after:.4f}") for name, before, after in rows],
        header=("", "before", "after"),
        divider=True,
        aligns=("l", "r", "r"),
    )
    if found.is_at_limit:
        msg.warn(
            f"The temperature is at its limit: too few examples ({size_of(found)}), only correct "
            "ones, or a pipeline that is no better than chance."
        )
    if number_of(found) < MIN_EXAMPLES:
        msg.warn(f"Only {size_of(found)}: the probabilities may be wrong on other texts")
    threshold = getattr(found, "threshold", None)
    if threshold is not None:
        weights = f"Weight of the cosine {found.cosine:.4f}, bias {found.bias:.4f}"
        msg.info(f"{weights}, threshold {threshold:.4f}")


def number_of(found: Any) -> int:
    return int(found.entities if hasattr(found, "entities") else found.pairs)


def size_of(found: Any) -> str:
    return counted(number_of(found), "entity" if hasattr(found, "entities") else "pair")


def require_able(pipe: Any, attribute: str, kind: str, source: str | Path) -> None:
    """Raise ValueError (F136) if a component lacks an attribute."""
    if not hasattr(pipe, attribute):
        words = {"kind": kind, "source": source, "components": pipe.name}
        raise ValueError(Errors.F136.format(**words, advice="Name another one with --component."))


def ranks_by_network(pipe: Any) -> bool:
    """Whether `search` was fitted to the network's probabilities."""
    from ..similarity.ranking import FEATURES

    weights = getattr(pipe, "search_weights", None)
    return bool(weights and weights[FEATURES.index("network")])


def fit_trust(pipe: Any, examples: Sequence[Example]) -> None:
    """Fit the default trust, with the names of the examples in the lexicon."""
    from ..ner.spans import names_in

    names = dict.fromkeys(name for each in examples for name in names_in(each.reference))
    known = [(text, label) for text, label in names if len(text) > 1 and label in pipe.known_labels]
    with pipe.with_words(known):
        fit(pipe, examples, partial(setattr, pipe, "trust"))


def call_before(nlp: Language, name: str, examples: Sequence[Example]) -> None:
    """Call the components before this one, which may need their vectors."""
    with nlp.select_pipes(enable=nlp.pipe_names[: nlp.pipe_names.index(name)]):
        docs = nlp.pipe([example.predicted for example in examples])
        for example, doc in zip(examples, docs, strict=True):
            example.predicted = doc


def fit(pipe: Any, examples: Sequence[Example], set_trust: Callable[[float], object]) -> None:
    """Set the trust with the best F1 of entities, and print the F1 of each. Of equally good ones,
    set the current default if it is among them, or else the lowest. Components after this one don't
    count."""
    from spacy.training import Example

    current, scores = pipe.trust, {}
    set_trust(current)  # the words must be there before the model reads the texts
    emissions = pipe.model.predict([example.predicted for example in examples])
    batches = list(emissions.batches)
    for trust in sorted({*TRUSTS, current}):
        set_trust(trust)
        copies = [Example(example.predicted.copy(), example.reference) for example in examples]
        docs = [example.predicted for example in copies]
        pipe.set_annotations(docs, pipe.decode(docs, replace(emissions, batches=iter(batches))))
        scores[trust] = pipe.score(copies)["ents_f"] or 0.0
    best = max((current, *TRUSTS), key=lambda trust: scores[trust])
    set_trust(best)
    rows = [
        (trust, f"{100 * score:.2f}" + " *" * (trust == best)) for trust, score in scores.items()
    ]
    print_table(rows, header=("trust", "F1 of entities"), divider=True)
    if len({*scores.values()}) == 1:
        msg.warn(f"The examples don't show which trust is best: it is {current}, the default")
