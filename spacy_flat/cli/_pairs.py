"""The component of a pipeline that compares pairs of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Errors

if TYPE_CHECKING:
    from spacy.language import Language

    from ..similarity.component import PairClassifier


def load_classifier(source: str, component: str = "") -> tuple[Language, PairClassifier]:
    """A pipeline (package or folder), and its only component that compares pairs of texts, or the
    one that is named.

    Raises ValueError where there is none, or several and none of them is named (F147); otherwise
    as `spacy.load`.
    """
    import spacy

    from ..similarity.component import PairClassifier

    nlp = spacy.load(source)
    found = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, PairClassifier)}
    name = component or next(iter(found), "")
    if name not in found or (len(found) > 1 and not component):
        components = ", ".join(found) or "none"
        raise ValueError(Errors.F147.format(source=source, components=components))
    return nlp, found[name]
