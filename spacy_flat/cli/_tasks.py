"""What `evaluate` shows of each task: each task has a row in `TASKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spacy.tokens import Doc

from ..similarity.pairs import pair_of


def percent(score: float) -> str:
    """A score from 0 to 1 in per cent."""
    return f"{100 * score:.2f}"


def decimals(score: float) -> str:
    """A score with four decimals."""
    return f"{score:.4f}"


def plain(score: float) -> str:
    """A score with two decimals."""
    return f"{score:,.2f}"


@dataclass(frozen=True)
class ScoredTask:
    """A task whose scores a pipeline may have.

    score: name of the score that stands for the others. title: what it is called.
    shown: names of further scores, their titles, and how they are written.
    per_label: name of the precision, recall and F1 of each label; "" without any.
    label: what is counted of the gold data, in the singular, and `count` how many a Doc has.
    doc: what a Doc is, in the singular.
    signatures: names of the texts that say how the scores were computed.
    """

    score: str
    title: str
    shown: Mapping[str, tuple[str, Callable[[float], str]]]
    per_label: str
    label: str
    count: Callable[[Doc], int]
    doc: str = "sentence"
    signatures: tuple[str, ...] = ()


def is_translated(doc: Doc) -> int:
    """1 for a text with a translation, 0 for any other Doc."""
    return int(doc.has_extension("translation") and doc._.translation is not None)


def is_pair(doc: Doc) -> int:
    """1 for an annotated pair of texts, 0 for any other Doc."""
    return int(bool(doc.cats) and pair_of(doc) is not None)


TASKS = (
    ScoredTask(
        score="ents_f",
        title="F1 of entities",
        shown={
            "ents_p": ("precision", percent),
            "ents_r": ("recall", percent),
            "chars_f": ("F1 by exact characters", percent),
        },
        per_label="ents_per_type",
        label="entity",
        count=lambda doc: len(doc.ents),
    ),
    ScoredTask(
        score="pairs_acc",
        title="accuracy",
        shown={
            "pairs_f": ("F1", percent),
            "pairs_p": ("precision", percent),
            "pairs_r": ("recall", percent),
            "pairs_macro_f": ("macro F1", percent),
            "pairs_auc": ("AUC", decimals),
            "pairs_ece": ("expected calibration error", decimals),
        },
        per_label="pairs_per_label",
        label="pair",
        count=is_pair,
        doc="pair",
    ),
    ScoredTask(
        score="pairs_spearman",
        title="Spearman's correlation",
        shown={
            "pairs_pearson": ("Pearson's correlation", decimals),
            "pairs_mse": ("mean squared error", decimals),
        },
        per_label="",
        label="pair",
        count=is_pair,
        doc="pair",
    ),
    ScoredTask(
        score="char_log_prob",
        title="log-probability of a character",
        shown={
            "perplexity": ("perplexity", plain),
            "oov_rate": ("unknown characters, per cent", percent),
        },
        per_label="",
        label="character",
        count=lambda doc: len(doc.text),
        doc="text",
    ),
    ScoredTask(
        score="bleu",
        title="BLEU",
        shown={
            "chrf": ("chrF", percent),
            "translation_log_prob": ("log-probability of a piece of the gold", decimals),
        },
        per_label="",
        label="translation",
        count=is_translated,
        doc="text",
        signatures=("bleu_signature", "chrf_signature"),
    ),
)
