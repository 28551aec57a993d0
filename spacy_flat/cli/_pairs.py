"""The component of a pipeline that compares pairs of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Errors
from ._components import load_component

if TYPE_CHECKING:
    from spacy.language import Language

    from ..similarity.component import PairClassifier


def load_classifier(source: str, component: str, device: str) -> tuple[Language, PairClassifier]:
    """A pipeline (package or folder), and its only component that compares pairs of texts, or the
    one that is named.

    Raises ValueError where there is none, or several and none of them is named (F147); otherwise
    as `load_on_device`.
    """
    from ..similarity.component import PairClassifier

    return load_component(source, PairClassifier, component, device, not_one=Errors.F147)
