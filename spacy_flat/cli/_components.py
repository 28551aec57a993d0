"""The component of a pipeline that a command works with."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from spacy.language import Language

PipeT = TypeVar("PipeT")


def load_component(
    source: str,
    kind: type[PipeT],
    component: str,
    device: str,
    *,
    not_one: str,
    misnamed: str = "",
) -> tuple[Language, PipeT]:
    """A pipeline (package or folder), and its only component of a kind, or the one that is named.

    Raises ValueError with the text `not_one` where there is none, or several and none of them is
    named, and with `misnamed`, or the same, where none has the name; otherwise as `load_on_device`.
    """
    from ..util.loading import load_on_device

    nlp = load_on_device(source, device)
    found = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, kind)}
    words = {"source": source, "components": ", ".join(found) or "none", "component": component}
    if not found or (len(found) > 1 and not component):
        raise ValueError(not_one.format(**words))
    if component and component not in found:
        raise ValueError((misnamed or not_one).format(**words))
    return nlp, found[component or next(iter(found))]
