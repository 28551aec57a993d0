"""What the benchmarks share: tables, the machine's description, results in files."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("spacy", "thinc", "torch", "spacy-flat")


def format_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    markdown: bool,
    text_columns: int = 1,
) -> str:
    """Aligned columns: so many of text, then numbers."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    if markdown:
        rule = ["-" * width for width in widths[:text_columns]]
        lines.insert(1, rule + ["-" * (width - 1) + ":" for width in widths[text_columns:]])
    cells = (
        [
            *map(str.ljust, line[:text_columns], widths),
            *map(str.rjust, line[text_columns:], widths[text_columns:]),
        ]
        for line in lines
    )
    return "\n".join("| " + " | ".join(row) + " |" if markdown else "  ".join(row) for row in cells)


def environment() -> dict[str, Any]:
    """The machine and the versions that figures hold for."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = info.read_text().split("model name\t: ")[1:] if info.exists() else []
    return names[0].partition("\n")[0] if names else platform.machine()


def write_json(path: Path, content: object) -> None:
    """Write a file that is either complete or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")
    os.replace(unfinished, path)
