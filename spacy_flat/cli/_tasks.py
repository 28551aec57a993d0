"""The tasks whose scores `evaluate` shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spacy.tokens import Doc

from ..similarity.pairs import pair_of


def percent(score: float) -> str:
    """A share as percentage."""
    return f"{100 * score:.2f}"


def decimals(score: float) -> str:
    return f"{score:.4f}"


def plain(score: float) -> str:
    return f"{score:,.2f}"


@dataclass(frozen=True)
class ScoredTask:
    """A task.

    score, title: name and title of its main score.
    label: what to count in the gold data, in the singular; `count` returns the number in a Doc.
    shown: names of further scores, their titles and formats.
    per_label: name of the precision, recall and F1 of each label.
    doc: what a Doc is, in the singular.
    signatures: names of the texts that document how the scores were computed.
    """

    score: str
    title: str
    label: str
    count: Callable[[Doc], int]
    shown: Mapping[str, tuple[str, Callable[[float], str]]]
    per_label: str = ""
    doc: str = "sentence"
    signatures: tuple[str, ...] = ()


def is_translated(doc: Doc) -> int:
    return int(doc.has_extension("translation") and doc._.translation is not None)


def is_pair(doc: Doc) -> int:
    return int(bool(doc.cats) and pair_of(doc) is not None)


ENTITIES = {
    "ents_p": ("precision", percent),
    "ents_r": ("recall", percent),
    "chars_f": ("F1 by exact characters", percent),
}
CLASSES = {
    "pairs_f": ("F1", percent),
    "pairs_p": ("precision", percent),
    "pairs_r": ("recall", percent),
    "pairs_macro_f": ("macro F1", percent),
    "pairs_auc": ("AUC", decimals),
    "pairs_ece": ("expected calibration error", decimals),
}
SIMILARITIES = {
    "pairs_pearson": ("Pearson's correlation", decimals),
    "pairs_mse": ("mean squared error", decimals),
}
CHARACTERS = {
    "perplexity": ("perplexity", plain),
    "oov_rate": ("unknown characters, per cent", percent),
}
TRANSLATIONS = {
    "chrf": ("chrF", percent),
    "translation_log_prob": ("log-probability of a piece of the gold", decimals),
}
SIGNATURES = ("bleu_signature", "chrf_signature")
TASKS = (
    ScoredTask(
        "ents_f", "F1 of entities", "entity", lambda doc: len(doc.ents), ENTITIES, "ents_per_type"
    ),
    ScoredTask("pairs_acc", "accuracy", "pair", is_pair, CLASSES, "pairs_per_label", "pair"),
    ScoredTask(
        "pairs_spearman", "Spearman's correlation", "pair", is_pair, SIMILARITIES, doc="pair"
    ),
    ScoredTask(
        "char_log_prob",
        "log-probability of a character",
        "character",
        lambda doc: len(doc.text),
        CHARACTERS,
        doc="text",
    ),
    ScoredTask(
        "bleu",
        "BLEU",
        "translation",
        is_translated,
        TRANSLATIONS,
        doc="text",
        signatures=SIGNATURES,
    ),
)
