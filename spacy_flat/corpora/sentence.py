"""What every reader yields, and what becomes of defects in the input."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from ..text.units import EntitySpan


class Sentence(NamedTuple):
    """An annotated sentence: characters or words, and entities that do not overlap.

    `line` is the line of the file where the sentence begins, from 1.
    """

    units: list[str]
    entities: list[EntitySpan]
    line: int


@dataclass
class Repairs:
    """Whether defects are repaired, and how many of each kind were."""

    enabled: bool = False
    counts: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str, error: str) -> None:
        """Count a defect that the caller then repairs.

        Raises ValueError with the text `error` where repairing was not asked for.
        """
        if not self.enabled:
            raise ValueError(error)
        self.counts[kind] += 1
