"""What the benchmarks share: runs and their records, tables, the machine, results in files."""

import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import mean, stdev
from typing import Any

PACKAGES = ("spacy", "thinc", "torch", "spacy-flat")

Record = dict[str, Any]


def record_runs(
    runs: Iterable[tuple[str, Callable[[], Record]]], output: Path | None
) -> list[Record]:
    """Run each under its title, and return the records of all; where there is an output, those are
    appended to it, and all that it has are returned."""
    records = []
    for title, run in runs:
        print(f"\n{title}", flush=True)
        records.append(run())
        if output:
            append_line(output, records[-1])
    print()
    if output is None:
        return records
    return [json.loads(line) for line in output.open(encoding="utf-8")]


def append_line(path: Path, record: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record, ensure_ascii=False) + "\n")


def group_records(records: Iterable[Record]) -> list[tuple[tuple[str, ...], list[Record]]]:
    """Records that differ in nothing but the seed, by corpus, system and vectors."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        settings = " ".join(f"{name}={value}" for name, value in record["overrides"].items())
        system = " ".join(filter(None, [record["system"], record["config"], settings]))
        groups.setdefault((record["corpus"], system, record["vectors"]), []).append(record)
    return sorted(groups.items())


def percent(values: Sequence[float]) -> str:
    """Mean and standard deviation in percent."""
    if not values:
        return "–"
    spread = f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.1f}{spread}"


def format_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1
) -> str:
    """Aligned columns in Markdown: so many of text, then numbers."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    rule = ["-" * width for width in widths[:text_columns]]
    lines.insert(1, rule + ["-" * (width - 1) + ":" for width in widths[text_columns:]])
    cells = (
        [
            *map(str.ljust, line[:text_columns], widths),
            *map(str.rjust, line[text_columns:], widths[text_columns:]),
        ]
        for line in lines
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


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
