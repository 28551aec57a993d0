"""Measure what making a pipeline compact costs and saves.

    python benchmarks/compact.py PIPELINE --dev DEV.spacy --text TEXT [--text TEXT]

Each row is the pipeline of `python -m spacy flat compact` with other settings: rows of its tables,
megabytes on disk, seconds that `spacy.load` takes in a fresh process (the
median of three, after all imports), and F1 on DEV. The texts are counted once for all rows.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import spacy
from report import environment, format_table

from spacy_flat.compress.compactor import Compactor, size_of_folder
from spacy_flat.corpora.docs import read_examples, read_texts

# Bits, and the megabytes into which it is to fit.
SETTINGS = [(32, 0), (16, 0), (8, 0), (5, 0), (4, 0), (8, 14.9), (5, 14.9), (4, 14.9), (4, 10)]
LOAD = """
import sys, time
import spacy, torch, spacy_flat.ner.flat.network, daachorse, safetensors.torch
spacy.blank("zh")
start = time.perf_counter()
spacy.load(sys.argv[1])
print(time.perf_counter() - start)
"""
HEADER = ("", "rows", "MB", "load, s", "F1 on dev")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipeline")
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--text", type=Path, action="append", required=True)
    arguments = parser.parse_args()
    compactor = Compactor(spacy.load(arguments.pipeline))
    for path in arguments.text:
        compactor.count(read_texts(path))
    results = [measure("as trained", compactor, arguments.dev)]
    for bits, megabytes in SETTINGS:
        compactor.apply(bits, limit=1e6 * megabytes or None)
        name = f"{bits} bits, {megabytes} MB" if megabytes else f"{bits} bits"
        results.append(measure(name, compactor, arguments.dev))
        print(results[-1], file=sys.stderr, flush=True)
    rows = [
        (
            result["name"],
            f"{result['rows']:,}",
            f"{result['bytes'] / 1e6:.1f}",
            f"{result['load']:.2f}",
            f"{100 * result['ents_f']:.2f}",
        )
        for result in results
    ]
    print(f"{environment()}\n\n{format_table(HEADER, rows)}")


def measure(name: str, compactor: Compactor, dev: Path) -> dict[str, Any]:
    """Sizes, seconds and F1 of a pipeline."""
    nlp = compactor.nlp
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        size = size_of_folder(Path(folder))
        load = [sys.executable, "-c", LOAD, folder]
        seconds = [float(subprocess.check_output(load)) for _ in range(3)]
    with nlp.memory_zone():
        scores = nlp.evaluate(read_examples(dev, nlp))
    return {
        "name": name,
        "rows": sum(compactor.rows().values()),
        "bytes": size,
        "load": median(seconds),
        "ents_f": scores["ents_f"],
    }


if __name__ == "__main__":
    main()
