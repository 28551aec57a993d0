"""Measure what installing spacy-flat costs those who do not use it.

    python benchmarks/startup.py [--runs 10] [--markdown] [--output FILE]

First, what is imported: `import spacy_flat` brings no torch, and `spacy.blank("zh")` knows
`flat_ner` in a process in which torch can't be imported at all.

Then the seconds of `import spacy` and `spacy.blank("zh")` in fresh processes, from spaCy alone to
all that comes with spacy-flat: torch, which thinc imports wherever it is installed; the entry
points of spacy-flat, which spaCy imports; those of spacy-transformers, which it imports too.
Packages are hidden from `importlib.metadata`, by which spaCy finds entry points, and torch from
`import`. The variants take turns, a first round is not counted, and medians are compared.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from report import environment, format_table, write_json

# Hides the packages named in sys.argv. Every variant runs through the same filter.
HIDE = """
import importlib.metadata as metadata, json, sys, time
hidden = sys.argv[1:]
distributions = metadata.distributions
metadata.distributions = lambda **context: (
    found for found in distributions(**context)
    if found.metadata["Name"].lower().replace("_", "-") not in hidden
)
if "torch" in hidden:
    sys.modules["torch"] = None
"""
TIME_BLANK = f"""{HIDE}
start = time.perf_counter()
import spacy
imported = time.perf_counter()
nlp = spacy.blank("zh")
done = time.perf_counter()
times = {{"import": imported - start, "blank": done - imported, "both": done - start}}
print(json.dumps({{"times": times, "knows_flat": nlp.has_factory("flat_ner")}}))
"""
IMPORTED = """
import json, sys
import spacy_flat
print(json.dumps([name for name in ("torch", "spacy", "thinc", "jieba") if name in sys.modules]))
"""

ALONE, TORCH, FLAT, INSTALLED = "spaCy alone", "+ torch", "+ spacy-flat", "+ spacy-transformers"
HIDDEN = {
    ALONE: ["torch", "spacy-flat", "spacy-transformers"],
    TORCH: ["spacy-flat", "spacy-transformers"],
    FLAT: ["spacy-transformers"],
    INSTALLED: [],
}
PARTS = ("import", "blank", "both")
Times = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="processes for each variant")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--output", type=Path, help="write all times to this JSON file")
    arguments = parser.parse_args()

    imported = run(IMPORTED)
    print(f"import spacy_flat imports of torch, spacy, thinc, jieba: {imported or 'none'}")
    without_torch = run(TIME_BLANK, ["torch", "spacy-transformers"])["knows_flat"]
    print(f"spacy.blank('zh') knows flat_ner where there is no torch: {without_torch}\n")

    times = measure(arguments.runs)
    medians = {name: {part: median(times[name][part]) for part in PARTS} for name in HIDDEN}
    header = ["median seconds", "import spacy", 'spacy.blank("zh")', "both"]
    rows = [[name, *(f"{found[part]:.3f}" for part in PARTS)] for name, found in medians.items()]
    print(format_table(header, rows, arguments.markdown))
    added = medians[FLAT]["blank"] - medians[TORCH]["blank"]
    print(f"\nspacy-flat adds {1000 * added:.0f} ms to spacy.blank.")
    if arguments.output:
        content = {
            "environment": environment(),
            "imported": imported,
            "works_without_torch": without_torch,
            "seconds": times,
        }
        write_json(arguments.output, content)


def measure(runs: int) -> dict[str, Times]:
    """Seconds of every run, by variant and part."""
    times: dict[str, Times] = {name: {part: [] for part in PARTS} for name in HIDDEN}
    for number in range(runs + 1):
        for name, hidden in HIDDEN.items():
            found = run(TIME_BLANK, hidden)
            if found["knows_flat"] == ("spacy-flat" in hidden):
                raise RuntimeError(
                    f"{name}: flat_ner is {'known' if found['knows_flat'] else 'not known'} to "
                    f"spaCy. Install spacy-flat (pip install -e .) and try again."
                )
            if number:
                for part in PARTS:
                    times[name][part].append(found["times"][part])
    return times


def run(code: str, arguments: Sequence[str] = ()) -> Any:
    """What a new Python process that runs the code prints, as JSON."""
    command = [sys.executable, "-c", code, *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


if __name__ == "__main__":
    main()
