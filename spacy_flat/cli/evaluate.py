"""`python -m spacy flat evaluate`: the scores of a pipeline, and what they were measured on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from wasabi import msg

from ..errors import Errors
from ..loading import entity_components, load_on_device
from ..ner.scores import SeenScorer
from ..ner.spans import meaning
from ..util.files import replacing, require_exists
from ..util.plural import counted, plural
from ..viz.entity_errors import errors_page, find_errors
from ._options import Device, GpuId, Pipeline, use_gpu
from ._table import print_table
from ._tasks import TASKS, ScoredTask, decimals, percent
from ._texts import check_output

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

PARTS = ("test", "dev")  # the first existing one is scored
FEW = 1000  # a score of fewer entities, pairs or characters is uncertain


def evaluate(
    model: Pipeline,
    corpus: Annotated[
        Path, typer.Argument(help=".spacy file, or folder of them as written by `convert --corpus`")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSON file for the scores", dir_okay=False)
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            "--errors",
            "-e",
            help="HTML file to compare gold and predicted entities",
            dir_okay=False,
        ),
    ] = None,
    gpu_id: GpuId = -1,
    device: Device = "",
) -> None:
    """Evaluate a pipeline on a .spacy file, or on the test part of a folder (the dev part if there
    is no test part).

    The scores are those of `spacy evaluate`. The JSON file also has the part and its counts. If
    train.spacy is in the same folder, entities that were seen and not seen in training are also
    scored separately.
    """
    import srsly

    from ..corpora.docs import read_entity_texts, read_examples

    if errors is not None:
        check_output(errors, ".html")
    use_gpu(gpu_id)
    part, path = evaluation_file(corpus)
    require_exists(path)  # before the pipeline is loaded
    nlp = load_on_device(model, device)
    if errors is not None and not entity_components(nlp):
        components = ", ".join(nlp.pipe_names) or "none"
        raise ValueError(Errors.F158.format(name=model, components=components))
    train = path.with_name("train.spacy")
    known = train != path and train.is_file() and entity_components(nlp)
    train_texts = read_entity_texts(train) if known else set()
    scorer = SeenScorer(nlp, train_texts, *judging(nlp))
    examples = read_examples(path, nlp)
    gold = [example.reference for example in examples]
    scores = nlp.evaluate(examples, scorer=scorer)
    tasks = [task for task in TASKS if task.score in scores]
    if not tasks:
        names = ", ".join(task.score for task in TASKS)
        raise ValueError(Errors.F126.format(model=model, scores=names))
    sizes = {task.label: sum(map(task.count, gold)) for task in tasks}
    if not any(sizes.values()):
        raise ValueError(Errors.F127.format(path=path, labels=" and ".join(sizes)))
    sizes = {task.doc: len(gold) for task in tasks} | sizes
    shown = ", ".join(counted(n, noun) for noun, n in sizes.items())
    msg.info(f"Scored on {path}: {shown}")
    for task in tasks:
        show_scores(task, scores, part, sizes[task.label])
    if sizes.get("entity"):
        show_other_labels(nlp, gold, scores.get("ents_per_type") or {})
    if "seen_f" in scores:
        show_seen(scores, train)
    if part == "dev":
        msg.warn("If training chose its best weights on this file, the score is a little too high.")
    if output is not None:
        counts = {plural(noun): n for noun, n in sizes.items()}
        with replacing(output) as temporary:
            srsly.write_json(temporary, {"part": part, **counts, **scores})
        msg.good(str(output))
    if errors is not None:
        write_errors(errors, scorer, f"{model} on {path}")


def judging(nlp: Language) -> tuple[list[str], dict[str, str] | None]:
    """The components' `unannotated_labels` and `label_map`."""
    labels: list[str] = []
    label_map: dict[str, str] = {}
    for _, pipe in nlp.pipeline:
        labels += getattr(pipe, "unannotated_labels", ())
        label_map |= getattr(pipe, "label_map", None) or {}
    return labels, label_map or None


def evaluation_file(corpus: Path) -> tuple[str, Path]:
    """Return the part of a corpus to score on, and its file. Raises ValueError (F132)."""
    if not corpus.is_dir():
        return corpus.stem, corpus
    for part in PARTS:
        path = corpus / f"{part}.spacy"
        if path.is_file():
            return part, path
    raise ValueError(Errors.F132.format(folder=corpus))


def show_scores(task: ScoredTask, scores: Mapping[str, Any], part: str, n_labels: int) -> None:
    if not n_labels:
        msg.warn(f"{task.title} on {part}: –. The file has no {task.label}: nothing to score.")
        return
    rows = [
        (title, written(scores[name], form))
        for name, (title, form) in task.shown.items()
        if name in scores
    ]
    print_table([*rows, ("words per second", f"{scores['speed']:,.0f}")], aligns=("l", "r"))
    per_label = scores.get(task.per_label) or {}
    if per_label:
        labels = [
            (label, *(written(value, percent) for value in prf.values()))
            for label, prf in per_label.items()
        ]
        header = ("label", "precision", "recall", "F1")
        print_table(labels, header=header, divider=True, aligns=("l", "r", "r", "r"))
    for name in task.signatures:
        msg.text(scores[name])
    if scores[task.score] is None:
        msg.warn(f"{task.title} on {part}: –. None could be scored.")
        return
    msg.good(f"{task.title} on {part}: {decimals(scores[task.score])}")
    if n_labels < FEW:
        few = counted(n_labels, task.label)
        msg.warn(f"Only {few} scored: the score is uncertain by some points.")


def show_other_labels(nlp: Language, gold: list[Doc], scored: Iterable[str]) -> None:
    """Warn of labels of entities that only the gold data has, or only the pipeline."""
    asked = {ent.label_: meaning(ent.label_, doc) for doc in gold for ent in doc.ents}
    listed = [set(nlp.pipe_labels.get(name, ())) for name in entity_components(nlp)]
    known = set(judging(nlp)[1] or ()).union(*listed)
    strange = [label for label, names in asked.items() if known.isdisjoint(names)]
    if strange and all(listed):  # other components may set any label
        names = ", ".join(sorted(strange))
        msg.warn(f"Gold labels that the pipeline doesn't know; all count as missed: {names}")
    if wrong := ", ".join(sorted(set(scored) - set(asked))):
        msg.warn(f"Predicted labels that the gold data doesn't have; all count as wrong: {wrong}")


def show_seen(scores: Mapping[str, Any], train: Path) -> None:
    msg.info(f"Entities whose text is, and is not, that of an entity in {train}:")
    rows = [
        (
            name,
            f"{scores[f'{name}_entities']:,}",
            *(written(scores[f"{name}_{score}"], percent) for score in "prf"),
        )
        for name in ("seen", "unseen")
    ]
    header = ("text", "entities", "precision", "recall", "F1")
    print_table(rows, header=header, divider=True, aligns=("l", "r", "r", "r", "r"))


def written(score: float | None, form: Callable[[float], str]) -> str:
    """A score, or a dash where there was nothing to score."""
    return "–" if score is None else form(score)


def write_errors(path: Path, scorer: SeenScorer, title: str) -> None:
    from ..ner.scores import as_judged
    from ..ner.spans import gold_annotation

    labels = scorer.unscored_labels
    golds = (gold_annotation(each, labels).mapped(scorer.label_map) for each in scorer.examples)
    judged = map(as_judged, scorer.examples, golds)
    found = find_errors((each.reference, each.predicted) for each in judged)
    with replacing(path) as temporary:
        temporary.write_text(errors_page(title, found), encoding="utf-8")
    msg.good(f"{path}: {counted(len(found), 'sentence')} with errors")
