"""What `evaluate` shows of each task: a task adds a row of its own to `TASKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spacy.tokens import Doc


def percent(score: float) -> str:
    """A score from 0 to 1 in per cent."""
    return f"{100 * score:.2f}"


@dataclass(frozen=True)
class Task:
    """A task whose scores a pipeline may have.

    score: name of the score that stands for the others. title: what it is called.
    shown: names of further scores, their titles, and how they are written.
    per_label: name of the precision, recall and F1 of each label; "" without any.
    label: what is counted of the gold data, in the singular, and `count` how many a Doc has.
    """

    score: str
    title: str
    shown: Mapping[str, tuple[str, Callable[[float], str]]]
    per_label: str
    label: str
    count: Callable[[Doc], int]


TASKS = (
    Task(
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
)
