"""Find the right question of an FAQ, or none: BM25, the cosine of sentence vectors, and the search.

    python benchmarks/faq.py PIPELINE [--oppo corpus/oppo/dev.spacy]

The FAQs: the fields of `assets/faq/dev.jsonl`; `assets/demo_pairs`; and one from groups of OPPO's
pairs that mean the same: the first text of each group is the question, the others are searched for,
and texts without any such pair have no answer. A query without an answer is another topic of the
field, or a near miss, which differs from a question in what matters. The search answers from the
pipeline's least similarity on; the others from where one in ten of the former get an answer.

    python benchmarks/faq.py PIPELINE --fit OUT --pairs corpus/lcqmc/dev.spacy …

fits the probabilities and the least similarity to the fields of `assets/faq/calibration.jsonl`, and
the threshold to these pairs, and writes the pipeline with them to OUT.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import spacy
import torch
from numpy.typing import NDArray
from report import format_table
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Corpus
from spacy.vocab import Vocab

from spacy_flat.similarity.calibration import best_threshold, fit_calibration
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.index import TextIndex, encode_texts
from spacy_flat.similarity.pairs import SAME, pair_of
from spacy_flat.similarity.ranking import terms_of
from spacy_flat.similarity.scores import labelled

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "scripts"))
from faqs import CONTRAST, read_faqs  # noqa: E402

NO_ANSWER, NEAR_MISS = -1, -2
SHARES = {0: 0.5, NO_ANSWER: 0.4, NEAR_MISS: 0.1}  # of queries, in probabilities
COMPARED = 10  # of the candidates, for probabilities
FALSE = 0.1  # the share of queries without an answer that get one

Numbers = NDArray[np.float64]


class Queries(NamedTuple):
    """The questions of an FAQ, and queries, each with the number of its question."""

    questions: list[str]
    queries: list[tuple[str, int]]


class Found(NamedTuple):
    """[N] of each query: the rank of its question, whether the first one is right, and the score of
    the first one."""

    ranks: Numbers
    right: NDArray[np.bool_]
    scores: Numbers
    gold: NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    parser.add_argument("--oppo", type=Path)
    parser.add_argument("--fit", type=Path, help="fit the search and write the pipeline here")
    parser.add_argument("--pairs", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    nlp = spacy.load(arguments.pipeline)
    (pipe,) = (pipe for _, pipe in nlp.pipeline if isinstance(pipe, PairClassifier))
    if arguments.fit:
        fit(nlp, pipe, arguments.pairs)
        nlp.to_disk(arguments.fit)
    faqs = {**fields("dev"), "demo": demo_faq()}
    if arguments.oppo:
        faqs["oppo"] = oppo_faq(arguments.oppo)
    rows, of_fields = [], []
    for name, faq in faqs.items():
        index = pipe.index(faq.questions)
        for system in ("BM25", "cosine", "search"):
            started = time.process_time()
            found = searched(index, faq, system)
            ms = 1000 * (time.process_time() - started) / len(faq.queries)
            least = pipe.min_similarity if system == "search" else least_of(found)
            rows.append([name, system, *measured(found, least), f"{ms:.1f}"])
            if system == "search" and name not in ("demo", "oppo"):
                of_fields.append(found)
    header = ["FAQ", "system", "top 1", "top 3", "least", "right", "false", "near", "ms"]
    print(format_table(header, rows, text_columns=2))
    print(format_table(["probability", "queries", "right"], reliability(of_fields)))


# FAQs


def fields(part: str) -> dict[str, Queries]:
    faqs = read_faqs(ROOT / f"assets/faq/{part}.jsonl")
    found = {}
    for field, faq in faqs.items():
        if field != CONTRAST:
            numbered = list(enumerate(faq.questions))
            found[field] = Queries(
                [question.text for question in faq.questions],
                [(text, number) for number, question in numbered for text in question.same]
                + [(text, NEAR_MISS) for _, question in numbered for text in question.different]
                + [(text, NO_ANSWER) for text in faq.unanswerable],
            )
    return found


def demo_faq() -> Queries:
    folder = ROOT / "assets/demo_pairs"
    lines = (folder / "faq.tsv").read_text("utf-8").splitlines()
    numbers = {line.split("\t")[0]: number for number, line in enumerate(lines)}
    pairs = (line.split("\t") for line in (folder / "queries.tsv").read_text("utf-8").splitlines())
    return Queries([*numbers], [(query, numbers.get(asked, NO_ANSWER)) for query, asked in pairs])


def oppo_faq(path: Path) -> Queries:
    groups: dict[str, list[str]] = {}
    for doc in DocBin().from_disk(path).get_docs(Vocab()):
        left, right = (span.text for span in pair_of(doc) or ())
        both = [groups.setdefault(text, [text]) for text in (left, right)]
        if doc.cats[SAME] == 1 and both[0] is not both[1]:
            both[0] += both[1]
            groups.update(dict.fromkeys(both[1], both[0]))
    found = {id(group): group for group in groups.values()}.values()
    answered = [group for group in found if len(group) > 1]
    queries = [(text, n) for n, group in enumerate(answered) for text in group[1:]]
    others = [(group[0], NO_ANSWER) for group in found if len(group) == 1]
    return Queries([group[0] for group in answered], queries + others)


# Searching


def searched(index: TextIndex, faq: Queries, system: str = "search") -> Found:
    gold = np.array([number for _, number in faq.queries])
    scores = np.stack([*scores_of(index, faq, system)])
    best = scores.argmax(axis=1)
    of_gold = scores[np.arange(len(gold)), gold]
    return Found((scores > of_gold[:, None]).sum(axis=1), best == gold, scores.max(axis=1), gold)


def scores_of(index: TextIndex, faq: Queries, system: str) -> Iterator[Numbers]:
    """[questions] of each query; -1 for those that the search leaves out."""
    for query, _ in faq.queries:
        if system == "BM25":
            yield index._candidates.scores(terms_of(query)).astype(np.float64)
        elif system == "cosine":
            yield (index._vectors @ encode_texts(index.pipe, [query]).vectors[0]).astype(np.float64)
        else:
            scores = np.full(len(faq.questions), -1.0)
            for match in index.search(query, 3, min_similarity=0):
                scores[match.number] = match.similarity
            yield scores


def least_of(found: Found) -> float:
    others = found.scores[found.gold == NO_ANSWER]
    return math.ceil(1000 * np.quantile(others, 1 - FALSE, method="higher") + 1e-6) / 1000


def merged(found: Sequence[Found]) -> Found:
    return Found(*map(np.concatenate, zip(*found, strict=True)))


def measured(found: Found, least: float) -> list[str]:
    has_answer, given = found.gold >= 0, found.scores >= least
    shares = [
        *((found.ranks[has_answer] < n).mean() for n in (1, 3)),
        (found.right & given)[has_answer].mean(),
        given[found.gold == NO_ANSWER].mean(),
    ]
    one, three, *others = (f"{100 * share:.0f}" for share in shares)
    near = given[found.gold == NEAR_MISS]
    others.append(f"{100 * near.mean():.0f}" if len(near) else "–")
    return [one, three, f"{least:.2f}", *others]


def weights_of(gold: NDArray[np.int64]) -> Numbers:
    """[N] How much queries count: those of each kind together its share."""
    kinds = np.minimum(gold, 0)
    return np.array([SHARES[kind] / (kinds == kind).sum() for kind in kinds.tolist()])


def reliability(found: Sequence[Found]) -> Iterator[list[str]]:
    """How often first matches are right, by their probability."""
    _, right, scores, gold = merged(found)
    weights = weights_of(gold)
    for low in np.arange(0, 1, 0.2):
        own = (scores >= low) & (scores < low + 0.2 + 1e-9 * (low > 0.7))
        share = np.average(right[own], weights=weights[own]) if own.any() else np.nan
        yield [f"{low:.1f} to {low + 0.2:.1f}", f"{own.sum()}", f"{100 * share:.0f}"]


# Fitting


def fit(nlp: Language, pipe: PairClassifier, pairs: Sequence[Path]) -> None:
    """So that the probability of a candidate is that of its being right."""
    faqs = [*fields("calibration").values()]
    found = [candidates(pipe, faq) for faq in faqs]
    logits, cosines, gold, shares = (np.concatenate(each) for each in zip(*found, strict=True))
    before = pipe.temperature, pipe.cosine, pipe.bias
    fitted = fit_calibration(logits, cosines, pipe._positives, gold, before, shares)
    pipe.temperature, pipe.cosine, pipe.bias = fitted
    of_all = merged([searched(pipe.index(faq.questions), faq) for faq in faqs])
    pipe.min_similarity = least_of(of_all)
    examples = [each for path in pairs for each in Corpus(path)(nlp)]
    for example in examples:
        example.predicted = pipe(example.predicted)
    if examples:
        of_pairs, probabilities = labelled(examples, pipe.labels)
        number = pipe.labels.index(pipe.positive)
        pipe.threshold = best_threshold(probabilities[:, number], of_pairs == number)
    pipe.write_settings(nlp.get_pipe_config(pipe.name))


def candidates(pipe: PairClassifier, faq: Queries) -> Sequence[Numbers | NDArray[np.int64]]:
    """Of the candidates of all queries: the network's outputs [N, K], cosines [N], the numbers of
    their classes, and how much they count."""
    index, number_of_same = pipe.index(faq.questions), pipe.labels.index(pipe.positive)
    weights = weights_of(np.array([number for _, number in faq.queries]))
    found = []
    for (query, number), weight in zip(faq.queries, weights, strict=True):
        places, logits, cosines = index.compare(query, COMPARED)
        gold = np.where(places == number, number_of_same, 1 - number_of_same)
        found.append((logits, cosines, gold, np.full(len(places), weight)))
    return [np.concatenate(each) for each in zip(*found, strict=True)]


if __name__ == "__main__":
    main()
