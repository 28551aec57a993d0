"""Annotated sentences, and the counts of defects in a corpus file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..text.units import EntitySpan


class AnnotatedUnits(NamedTuple):
    """An annotated sentence: characters or words, and entities that do not overlap.

    `line` is the line of the file where the sentence begins, from 1.
    """

    units: list[str]
    entities: list[EntitySpan]
    line: int


@dataclass
class Repairs:
    """Whether defects are repaired, and how many of each kind were.

    lines: defects of lines, of which `n_lines` were read. labels: defects of what is annotated.
    first: the error of the first defect that was repaired.
    n_skipped: unannotated records, which aren't defects.
    """

    enabled: bool = False
    n_lines: int = 0
    lines: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    first: str = ""
    n_skipped: int = 0

    @property
    def counts(self) -> Counter[str]:
        """All repairs by their kind."""
        return self.lines + self.labels

    def count(self, kind: str, error: str, *, label: bool = False) -> Literal[False]:
        """Count a defect of a line, or of a label, that the caller then repairs. Returns False, for
        callers that check whether something is whole.

        Raises ValueError with the text `error` where repairing was not asked for.
        """
        if not self.enabled:
            raise ValueError(error)
        (self.labels if label else self.lines)[kind] += 1
        self.first = self.first or error
        return False
