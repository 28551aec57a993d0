"""Measure what installing spacy-flat costs those who do not use it.

    python benchmarks/startup.py [--runs 10] [--markdown]

Median seconds of `import spacy` and `spacy.blank("zh")` in fresh processes, from spaCy alone to all
that comes with spacy-flat: torch, which thinc imports wherever it is installed; the entry points of
spacy-flat, which spaCy imports; those of spacy-transformers, which it imports too. Packages are
hidden from `importlib.metadata`, by which spaCy finds entry points, and torch from `import`. The
variants take turns, and a first round is not counted.
"""

import argparse
import json
import subprocess
import sys
from statistics import median

from report import environment, format_table

# Hides the packages named in sys.argv. Every variant runs through the same filter.
CODE = """
import importlib.metadata as metadata, json, sys, time
hidden = sys.argv[1:]
distributions = metadata.distributions
metadata.distributions = lambda **context: (
    found for found in distributions(**context)
    if found.metadata["Name"].lower().replace("_", "-") not in hidden
)
if "torch" in hidden:
    sys.modules["torch"] = None
start = time.perf_counter()
import spacy
imported = time.perf_counter()
nlp = spacy.blank("zh")
assert nlp.has_factory("flat_ner") == ("spacy-flat" not in hidden)
print(json.dumps([imported - start, time.perf_counter() - imported]))
"""
HIDDEN = {
    "spaCy alone": ["torch", "spacy-flat", "spacy-transformers"],
    "+ torch": ["spacy-flat", "spacy-transformers"],
    "+ spacy-flat": ["spacy-transformers"],
    "+ spacy-transformers": [],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="processes for each variant")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    arguments = parser.parse_args()
    times: dict[str, list[list[float]]] = {name: [] for name in HIDDEN}
    for _ in range(arguments.runs + 1):
        for name, hidden in HIDDEN.items():
            command = [sys.executable, "-c", CODE, *hidden]
            times[name].append(json.loads(subprocess.check_output(command)))
    rows = [
        [name, *(f"{median(column):.3f}" for column in zip(*found[1:], strict=True))]
        for name, found in times.items()
    ]
    print(environment())
    print(format_table(["", "import spacy", 'spacy.blank("zh")'], rows, arguments.markdown))


if __name__ == "__main__":
    main()
