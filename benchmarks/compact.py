"""Measure what making a pipeline compact costs and saves.

    python benchmarks/compact.py PIPELINE --dev DEV.spacy --text TEXT [--text TEXT] [--markdown]
        [--output FILE]

Each row is the pipeline of `python -m spacy flat compact` with other settings: rows of its tables,
words of its lexicon, megabytes on disk, seconds that `spacy.load` takes in a fresh process (the
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
from report import environment, format_table, write_json

from spacy_flat.compress.compactor import Compactor, CompressConfig, size_of_folder
from spacy_flat.corpora.docs import read_examples, read_texts

# Name of a setting, how much it keeps, and the megabytes into which it is to fit.
SETTINGS: list[tuple[str, CompressConfig, float | None]] = [
    ("merged", CompressConfig(32), None),
    ("16 bits", CompressConfig(16), None),
    ("8 bits", CompressConfig(8), None),
    ("5 bits", CompressConfig(5), None),
    ("4 bits", CompressConfig(4), None),
    ("8 bits, 14.9 MB", CompressConfig(8), 14.9),
    ("5 bits, 14.9 MB", CompressConfig(5), 14.9),
    ("5 bits, 14.9 MB, known words", CompressConfig(5, known_words=True), 14.9),
    ("4 bits, 14.9 MB", CompressConfig(4), 14.9),
    ("4 bits, 10 MB, known words", CompressConfig(4, known_words=True), 10.0),
]
LOAD = """
import sys, time
import spacy, torch, spacy_flat.ner.flat.network, daachorse, safetensors.torch
spacy.blank("zh")
start = time.perf_counter()
spacy.load(sys.argv[1])
print(time.perf_counter() - start)
"""
HEADER = ("", "rows", "words", "MB", "load, s", "F1 on dev")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipeline")
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--text", type=Path, action="append", required=True)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    compactor = Compactor(spacy.load(arguments.pipeline))
    for path in arguments.text:
        compactor.count(read_texts(path))
    results = [measure("as trained", compactor, arguments.dev)]
    for name, amount, megabytes in SETTINGS:
        compactor.apply(amount, megabytes and 1e6 * megabytes)
        results.append(measure(name, compactor, arguments.dev))
        print(results[-1], file=sys.stderr, flush=True)
    rows = [
        (
            result["name"],
            f"{result['rows']:,}",
            f"{result['words']:,}",
            f"{result['bytes'] / 1e6:.1f}",
            f"{result['load']:.2f}",
            f"{100 * result['ents_f']:.2f}",
        )
        for result in results
    ]
    print(format_table(HEADER, rows, arguments.markdown))
    if arguments.output is not None:
        write_json(arguments.output, {"environment": environment(), "results": results})


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
        "words": sum(len(pipe.lexicon) for _, pipe in nlp.pipeline if hasattr(pipe, "lexicon")),
        "bytes": size,
        "load": median(seconds),
        "ents_f": scores["ents_f"],
    }


if __name__ == "__main__":
    main()
