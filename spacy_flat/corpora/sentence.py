"""What every reader yields, and what becomes of defects in the input."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class CorpusError(ValueError):
    """A corpus is not what it should be. The text has a code, the file, the line and advice."""


class Entity(NamedTuple):
    """Units `start` to `end` (exclusive) of a sentence are a `label`."""

    start: int
    end: int
    label: str


class Sentence(NamedTuple):
    """An annotated sentence: characters or words, and entities that do not overlap.

    `line` is the line of the file where the sentence begins, from 1.
    """

    units: list[str]
    entities: list[Entity]
    line: int


@dataclass
class Repairs:
    """Whether defects are repaired, and how many of each kind were."""

    enabled: bool = False
    counts: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str, error: str) -> None:
        """Count a defect that the caller then repairs.

        Raises CorpusError with the text `error` where repairing was not asked for.
        """
        if not self.enabled:
            raise CorpusError(error)
        self.counts[kind] += 1
