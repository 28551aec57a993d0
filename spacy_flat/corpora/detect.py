"""Detecting the format of a corpus file, where only one fits every line read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import Errors
from ..util.files import read_text_lines
from .cells import SAMPLE
from .columns import detect_scheme
from .formats import CorpusFormat
from .offsets import layout_of
from .pairs import detect_table, parse_record
from .poems import lines_of
from .records import has_records, read_records


def detect_format(path: Path, formats: Mapping[str, CorpusFormat]) -> str:
    """The format of a file by the keys of JSON, by tags in columns, or by the header of a table of
    pairs. Others have to be named.

    Raises ValueError for a file without text (F010), for broken JSON (F119, F156), and unless
    exactly one format fits all of the first lines (F150).
    """
    if not any(text.strip() for _, text in read_text_lines(path)):
        raise ValueError(Errors.F010.format(path=path, what="sentence"))
    fitting = {name for name in (detect_scheme(path), detect_table(path)) if name}
    if not fitting and has_records(path):
        found = [formats_of(record) for _, record in islice(read_records(path), SAMPLE)]
        fitting = set.intersection(*found)
    if len(fitting) != 1:
        words = {
            "found": " and ".join(sorted(fitting)) or "no format",
            "formats": "".join(f"\n{name:>13}: {form.example}" for name, form in formats.items()),
        }
        raise ValueError(Errors.F150.format(path=path, **words))
    return fitting.pop()


def formats_of(record: Any) -> set[str]:
    """The formats that a JSON record fits."""
    fitting = set()
    for name, parse in (("", layout_of), ("pairs-jsonl", parse_record), ("poems-jsonl", lines_of)):
        with suppress(ValueError):
            layout = parse(record)
            fitting.add(name or str(layout))
    return fitting
