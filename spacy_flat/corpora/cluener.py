"""CLUENER's JSON lines: a text with, by type and surface, inclusive character offsets.

    {"text": "温格战胜曼联", "label": {"name": {"温格": [[0, 1]]}, "team": {"曼联": [[4, 5]]}}}

Source: CLUENER2020 (Xu et al. 2020, arXiv:2001.04351), and the layout of `assets/demo`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Errors
from ..files import read_text_lines
from ..text.units import EntitySpan
from .sentence import Repairs, Sentence


@dataclass(frozen=True)
class CluenerReader:
    """Reads one file of CLUENER's JSON lines. Units are the characters of the text."""

    path: Path
    repairs: Repairs

    def __iter__(self) -> Iterator[Sentence]:
        """Yield the sentences. Raises ValueError (F004, F106 to F109)."""
        for line, raw in read_text_lines(self.path):
            if not raw.strip():
                continue
            try:
                text, mentions = parse_line(raw)
            except ValueError as problem:
                error = Errors.F106.format(path=self.path, line=line, problem=problem)
                self.repairs.count("malformed line dropped", error)
                continue
            entities = [
                EntitySpan(start, end + 1, label)
                for label, surface, start, end in mentions
                if self._is_in_text(line, text, label, surface, start, end)
            ]
            yield Sentence(list(text), self._without_overlap(line, text, entities), line)

    def _is_in_text(
        self, line: int, text: str, label: str, surface: str, start: int, end: int
    ) -> bool:
        where = {"path": self.path, "line": line, "label": label, "surface": surface}
        if not 0 <= start <= end < len(text):
            error = Errors.F107.format(**where, start=start, end=end, length=len(text))
            self.repairs.count("entity outside the text dropped", error)
            return False
        found = text[start : end + 1]
        if found != surface:
            error = Errors.F108.format(**where, start=start, end=end, found=found)
            self.repairs.count("entity with another surface dropped", error)
            return False
        return True

    def _without_overlap(
        self, line: int, text: str, entities: list[EntitySpan]
    ) -> list[EntitySpan]:
        """Keep the longer of two overlapping entities, the first of two equally long ones."""
        kept: list[EntitySpan] = []
        for entity in sorted(
            entities, key=lambda entity: (entity.start - entity.end, entity.start)
        ):
            other = next((o for o in kept if o.start < entity.end and entity.start < o.end), None)
            if other is None:
                kept.append(entity)
                continue
            error = Errors.F109.format(
                path=self.path,
                line=line,
                label=entity.label,
                surface=text[entity.start : entity.end],
                other_label=other.label,
                other_surface=text[other.start : other.end],
            )
            self.repairs.count("overlapping entity dropped", error)
        return sorted(kept)


def parse_line(raw: str) -> tuple[str, list[tuple[str, str, int, int]]]:
    """Return the text and its mentions (label, surface, start, inclusive end).

    Raises ValueError that says what is wrong with the layout.
    """
    try:
        record: Any = json.loads(raw)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    text, labels = record.get("text"), record.get("label")
    if not isinstance(text, str) or not text:
        raise ValueError('it has no "text"')
    if not isinstance(labels, dict):
        raise ValueError('it has no "label" object')
    return text, list(_mentions(labels))


def _mentions(labels: dict[str, Any]) -> Iterator[tuple[str, str, int, int]]:
    for label, surfaces in labels.items():
        if not label or not isinstance(surfaces, dict):
            raise ValueError(f"label {label!r} has no object of surfaces")
        for surface, spans in surfaces.items():
            if not isinstance(spans, list):
                raise ValueError(f"surface {surface!r} has no list of offsets")
            for span in spans:
                if not isinstance(span, list) or [type(offset) for offset in span] != [int, int]:
                    raise ValueError(f"{span!r} is no pair of offsets")
                yield label, surface, span[0], span[1]
