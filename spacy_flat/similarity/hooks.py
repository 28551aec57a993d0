"""`doc.similarity` by a component."""

from collections.abc import Callable
from typing import Any

from spacy.tokens import Doc

from ..errors import Errors


class SimilarityHook:
    """What spaCy calls for `doc.similarity` and `span.similarity`.

    A pickled Doc does not take the component with it.
    """

    def __init__(self, compare: Callable[[Any, Any], float]) -> None:
        self.compare = compare

    def attach(self, doc: Doc) -> None:
        """Let a Doc and its spans be compared by it."""
        doc.user_hooks["similarity"] = doc.user_span_hooks["similarity"] = self

    def __call__(self, left: Any, right: Any) -> float:
        return self.compare(left, right)

    def __reduce__(self) -> tuple[Any, ...]:
        return SimilarityHook, (without_component,)


def without_component(left: Any, right: Any) -> float:
    """Raises ValueError (F326)."""
    raise ValueError(Errors.F326)
