"""Compare pairs of texts: a pipeline's probability, its cosine of sentence vectors, and the share
of characters in common.

    python benchmarks/pairs.py PIPELINE … --corpora corpus/lcqmc corpus/oppo corpus/stsb

Scores on dev.spacy of each corpus: the accuracy of the probability at the pipeline's threshold and
the area under the ROC curve, or Spearman's correlation with graded pairs. One thread.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import spacy
import torch
from numpy.typing import NDArray
from report import format_table
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.model import cosines_of
from spacy_flat.similarity.pairs import SAME, SEPARATOR, SIMILARITY
from spacy_flat.similarity.scores import area_under_curve, correlation, ranks

AT_ONCE = 500

Numbers = NDArray[np.float64]
Pairs = list[tuple[str, str]]
System = Callable[[Pairs], Numbers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipelines", nargs="+")
    parser.add_argument("--corpora", type=Path, nargs="+", required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpora = {path.name: read(path / "dev.spacy") for path in arguments.corpora}
    rows = [["characters in common", *measured(in_common, corpora, None)]]
    for name in arguments.pipelines:
        components = spacy.load(name).components
        (pipe,) = (pipe for _, pipe in components if isinstance(pipe, PairClassifier))
        number = pipe.labels.index(pipe.positive)

        def cosine(pairs: Pairs, pipe: PairClassifier = pipe) -> Numbers:
            return cosines_of(pipe.model, pipe.read(pairs)).astype(np.float64)

        def similarity(pairs: Pairs, pipe: PairClassifier = pipe, number: int = number) -> Numbers:
            return pipe.predict_pairs(pairs)[:, number].astype(np.float64)

        rows.append([f"{name}, cosine", *measured(cosine, corpora, None)])
        rows.append([name, *measured(similarity, corpora, pipe.threshold)])
    print(format_table(["", *corpora, "pairs / s"], rows))


def read(path: Path) -> tuple[Pairs, Numbers]:
    """Pairs, and what they are: 0 and 1, or grades."""
    docs = [*DocBin().from_disk(path).get_docs(Vocab())]
    pairs = [(left, right) for doc in docs for left, right in [doc.text.split(SEPARATOR)]]
    cats = [doc.cats for doc in docs]
    return pairs, np.array([own[SIMILARITY if SIMILARITY in own else SAME] for own in cats])


def in_common(pairs: Pairs) -> Numbers:
    """Jaccard's index."""
    return np.array([len({*a} & {*b}) / max(1, len({*a} | {*b})) for a, b in pairs])


def measured(
    system: System, corpora: dict[str, tuple[Pairs, Numbers]], threshold: float | None
) -> list[str]:
    started, cells = time.process_time(), []
    for pairs, gold in corpora.values():
        parts = [system(pairs[start : start + AT_ONCE]) for start in range(0, len(pairs), AT_ONCE)]
        found = np.concatenate(parts)
        if len(np.unique(gold)) > 2:
            cells.append(f"{100 * (correlation(ranks(gold), ranks(found)) or 0):.1f}")
            continue
        right = "" if threshold is None else f"{100 * np.mean((found >= threshold) == gold):.1f} / "
        cells.append(f"{right}{100 * (area_under_curve(gold > 0, found) or 0):.1f}")
    speed = sum(len(pairs) for pairs, _ in corpora.values()) / (time.process_time() - started)
    return [*cells, f"{speed:,.0f}"]


if __name__ == "__main__":
    main()
