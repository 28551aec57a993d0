"""The component of a pipeline that compares pairs of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._components import load_component

if TYPE_CHECKING:
    from spacy.language import Language

    from ..similarity.component import PairClassifier


def load_classifier(source: str, component: str, device: str) -> tuple[Language, PairClassifier]:
    """A pipeline and its classifier of pairs, as in `load_component`."""
    from ..similarity.component import PairClassifier

    return load_component(source, PairClassifier, component, device, "component for pairs")
