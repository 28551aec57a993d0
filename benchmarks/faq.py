"""Find the right question of an FAQ: BM25, mean vectors, the network, and the search of an index.

    python benchmarks/faq.py PIPELINE --oppo corpus/oppo/dev.spacy --vectors zh.word.50d.vec.xz

Two FAQs: `assets/demo_pairs`, whose questions are searched for in other words, with 50 questions
that it has no answer for; and one from groups of OPPO's pairs that mean the same: the first text of
each group is the question, the others are searched for, and texts without any such pair have no
answer. `false` is the share of questions without an answer that are given one where the least
similarity is such that nine of ten others are given one.

    python benchmarks/faq.py PIPELINE --oppo corpus/oppo/dev.spacy --fit OUT

fits the weights of the search to these FAQs, and writes the pipeline with them to OUT. "Fitted to
the other half" is measured with weights fitted without the queries for the same questions.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import spacy
import torch
from numpy.typing import NDArray
from report import format_table
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_flat.similarity.calibration import SLOPES, fit_weights
from spacy_flat.similarity.component import PairClassifier
from spacy_flat.similarity.pairs import SAME, pair_of
from spacy_flat.similarity.ranking import Candidates, terms_of
from spacy_flat.vectors import read_vectors

TRIED = 20  # candidates of each query, in fitting
ROOT = Path(__file__).parents[1]
Scores = NDArray[np.float64]
System = Callable[[str], Scores]  # [N] of all questions


class SearchedQuery(NamedTuple):
    """The candidates of a query."""

    features: Scores  # [B, F]
    gold: NDArray[np.bool_]  # [B] whether each is right


class Faq(NamedTuple):
    """queries: texts, each with the number of its question, or -1 without an answer."""

    questions: list[str]
    queries: list[tuple[str, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    parser.add_argument("--oppo", type=Path)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--fit", type=Path, help="fit the search and write the pipeline here")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    nlp = spacy.load(arguments.pipeline)
    (pipe,) = (pipe for _, pipe in nlp.pipeline if isinstance(pipe, PairClassifier))
    faqs = {"demo": demo_faq(), **({"oppo": oppo_faq(arguments.oppo)} if arguments.oppo else {})}
    examples = search_examples(pipe, list(faqs.values())) if arguments.fit else []
    halves = [fit_ranking(other) for other in reversed(examples)]
    rows = []
    for name, faq in faqs.items():
        for system, scores in systems(pipe, faq, arguments, halves):
            started = time.process_time()
            rows.append([name, system, *measured(faq, scores)])
            rows[-1].append(f"{1000 * (time.process_time() - started) / len(faq.queries):.1f}")
    header = ["FAQ", "system", "top 1 %", "top 3 %", "false %", "least", "ms"]
    print(format_table(header, rows, text_columns=2))
    if arguments.fit:
        pipe.search_weights = fit_ranking([*examples[0], *examples[1]])
        pipe.write_settings(nlp.get_pipe_config(pipe.name))
        nlp.to_disk(arguments.fit)


def demo_faq() -> Faq:
    folder = ROOT / "assets/demo_pairs"
    questions = [
        line.split("\t")[0] for line in (folder / "faq.tsv").read_text("utf-8").split("\n")
    ]
    numbers = {question: number for number, question in enumerate(filter(None, questions))}
    lines = (folder / "queries.tsv").read_text("utf-8").splitlines()
    pairs = (line.split("\t") for line in lines)
    return Faq(list(numbers), [(query, numbers.get(asked, -1)) for query, asked in pairs])


def oppo_faq(path: Path) -> Faq:
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
    return Faq(
        [group[0] for group in answered],
        queries + [(group[0], -1) for group in found if len(group) == 1],
    )


def half_of(faq: Faq, place: int) -> int:
    """All queries for a question are in one half."""
    number = faq.queries[place][1]
    return (place if number < 0 else number) % 2


def search_examples(pipe: PairClassifier, faqs: Sequence[Faq]) -> list[list[list[SearchedQuery]]]:
    """Of each FAQ, for each half of the queries."""
    halves: list[list[list[SearchedQuery]]] = [[], []]
    for faq in faqs:
        index = pipe.index(faq.questions)
        for half in halves:
            half.append([])
        for place, (query, number) in enumerate(faq.queries):
            found, features = index.compare(query, TRIED)
            gold = np.array([at == number for at in found])
            halves[half_of(faq, place)][-1].append(SearchedQuery(features, gold))
    return halves


def fit_ranking(faqs: Sequence[Sequence[SearchedQuery]]) -> list[float]:
    """Weights that rank right candidates first and reject queries without one, scaled so that the
    first candidate's probability is that of its being right. No feature counts against a candidate.

    Each FAQ counts the same, and in each queries with an answer count as much as those without one.
    """
    queries = [query for faq in faqs for query in faq]
    shares = np.concatenate([shares_of(faq) for faq in faqs])
    counts = [len(query.gold) for query in queries]
    rows = np.concatenate([query.features for query in queries])
    gold = np.concatenate([query.gold for query in queries])
    bounds = (0.0, 0.0, -np.inf), (np.inf,) * 3
    weights = fit_logistic(rows, gold, shares.repeat(counts), *bounds)
    best = [np.argmax(query.features @ weights) for query in queries]
    first = np.cumsum([0, *counts[:-1]]) + best
    margins = np.stack([rows[first] @ weights, np.ones(len(first))], axis=1)
    bounds = (SLOPES[0], -np.inf), (SLOPES[1], np.inf)
    scale, shift = fit_logistic(margins, gold[first], shares, *bounds)
    weights = weights * scale + shift * np.array([0, 0, 1])
    return [round(weight, 6) for weight in weights.tolist()]


def fit_logistic(
    rows: Scores, gold: NDArray[np.bool_], shares: Scores, *bounds: Sequence[float]
) -> Scores:
    """Wrong candidates have no features."""
    both = np.stack([np.zeros_like(rows), rows], axis=1)
    return fit_weights(both, gold.astype(np.int64), *bounds, shares).astype(np.float64)


def shares_of(faq: Sequence[SearchedQuery]) -> Scores:
    is_answered = np.array([query.gold.any() for query in faq])
    return 1.0 / np.where(is_answered, is_answered.sum(), (~is_answered).sum())


def systems(
    pipe: PairClassifier,
    faq: Faq,
    arguments: argparse.Namespace,
    halves: Sequence[Sequence[float]],
) -> Iterator[tuple[str, System]]:
    questions = faq.questions
    candidates = Candidates.of(map(terms_of, questions))
    yield "BM25", lambda query: candidates.scores(terms_of(query)).astype(np.float64)
    if arguments.vectors:
        table = read_vectors(arguments.vectors)
        known = dict(zip(table.keys, table.data, strict=True))

        def mean(text: str) -> Scores:
            words = [known[token.text] for token in pipe.nlp.make_doc(text) if token.text in known]
            vector = np.mean(words, axis=0) if words else np.zeros(table.data.shape[1])
            return vector / max(1e-9, float(np.linalg.norm(vector)))

        means = np.stack([mean(question) for question in questions])
        yield "cosine of mean vectors", lambda query: means @ mean(query)
    index, released = pipe.index(questions), pipe.ranking

    def search(query: str, weights: Sequence[float]) -> Scores:
        pipe.search_weights = weights
        scores = np.zeros(len(questions))
        for match in index.search(query, len(questions[: arguments.candidates])):
            scores[match.number] = match.similarity
        return scores

    yield "cosine", partial(search, weights=(1, 0, 0))
    yield "search", partial(search, weights=released)
    if halves:
        half = {query: half_of(faq, place) for place, (query, _) in enumerate(faq.queries)}
        fitted = "search, fitted to the other half"
        yield fitted, lambda query: search(query, halves[half[query]])
    number = pipe.labels.index(pipe.positive)

    def network(query: str) -> Scores:
        places, _ = index.compare(query, arguments.candidates)
        scores = np.zeros(len(questions))
        pairs = [(query, questions[place]) for place in places]
        scores[places] = pipe.predict_pairs(pairs)[:, number]
        return scores

    yield "network", network


def measured(faq: Faq, system: System) -> Sequence[str]:
    best, ranks, others = [], [], []
    for query, number in faq.queries:
        scores = system(query)
        if number < 0:
            others.append(scores.max())
        else:
            best.append(scores.max())
            ranks.append(int((scores > scores[number]).sum()))
    least = np.quantile(best, 0.1)
    shares = [np.mean(np.array(ranks) < n) for n in (1, 3)]
    shares.append(np.mean(np.array(others) >= least))
    return [*(f"{100 * share:.1f}" for share in shares), f"{least:.3f}"]


if __name__ == "__main__":
    main()
