"""Choose the component of a pipeline that a command uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from ..errors import Errors

if TYPE_CHECKING:
    from spacy.language import Language

T = TypeVar("T")

PAIRS = "component for pairs"


def load_component(
    source: str, kind: type[T], component: str, device: str, name: str
) -> tuple[Language, T]:
    """A pipeline (package or folder) and its only component of a class, or the named one.

    name: of the class, for errors.

    Raises as `choose` and `load_on_device`.
    """
    from ..loading import load_on_device

    nlp = load_on_device(source, device)
    found = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, kind)}
    return nlp, choose(found, component, source, name)


def choose(found: Mapping[str, T], component: str, source: str, kind: str) -> T:
    """The named candidate, or the only one. Raises ValueError (F136) if there is none or no name to
    decide by."""
    name = component or (next(iter(found)) if len(found) == 1 else "")
    if name not in found:
        components = ", ".join(found) or "none"
        advice = "Name one of them with --component." if found else "Give another pipeline."
        words = {"kind": kind, "source": source, "components": components, "advice": advice}
        raise ValueError(Errors.F136.format(**words))
    return found[name]
