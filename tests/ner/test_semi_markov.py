"""The semi-Markov CRF against all annotations of short segments, one by one."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_flat.ner.constraints import SpanConstraints
from spacy_flat.ner.semi_markov import REQUIRED, Arcs, Scores, SemiMarkovCRF
from spacy_flat.ner.tags import TagSet
from spacy_flat.text.spans import EntitySpan

from .paths import legal_paths, spans_of

LABELS = ("A", "B", "C")
Span = tuple[int, int, str]


class Case:
    """A random segment with constraints, after another one that has none."""

    def __init__(self, seed: int, n: int, labels: dict[str, list[str]]) -> None:
        noise = self.noise = np.random.default_rng(seed)
        tags = self.tags = TagSet(LABELS)
        K = len(tags)
        self.n, self.labels = n, labels
        self.scores = Scores(
            *(noise.normal(size=size) * 2 for size in ((2, 4, K), (K, K), (K,), (K,)))
        )
        self.temperature = float(noise.choice([1.0, 0.5, 2.0]))
        self.constraints = SpanConstraints()
        for _ in range(noise.integers(0, 4)):
            odds = float(noise.choice([3, 1, -2, -np.inf, 12]))
            self.constraints.log_odds[self.span(str(noise.choice(LABELS)))] = odds
        for of in (self.constraints.within, self.constraints.log_odds):
            if noise.random() < 0.3:
                of[self.span("C")] = float(noise.choice([-3, -1]))
        if noise.random() < 0.3:
            stretch = self.span(str(noise.choice([*labels])))
            given = self.constraints
            (given.fixed if noise.random() < 0.5 else given.outside)[stretch] = REQUIRED

    def span(self, label: str) -> EntitySpan:
        start = int(self.noise.integers(0, self.n))
        return EntitySpan(start, int(self.noise.integers(start + 1, self.n + 1)), label)

    @property
    def crf(self) -> SemiMarkovCRF:
        numbers = [
            next(number for number, own in enumerate(self.labels.values()) if label in own)
            for label in LABELS
        ]
        odds = np.zeros((5, 5, len(LABELS), 2), np.float32)
        self.constraints.apply(odds[..., 1], self.labels, LABELS)
        lengths = np.array([4, self.n])
        return SemiMarkovCRF(
            self.tags, self.scores, lengths, np.array(numbers), odds, self.temperature
        )

    def annotations(self) -> list[tuple[float, list[Span]]]:
        """All with their log-odds to each other, the best first."""
        names = {own: name for name, each in self.labels.items() for own in each}
        emissions, transitions, starts, ends = self.scores
        found: dict[tuple[Span, ...], list[float]] = defaultdict(list)
        for path in legal_paths(self.tags, self.n):
            fine = [EntitySpan(*span) for span in spans_of(self.tags, path)]
            score = emissions[1, range(self.n), path].sum() + starts[path[0]] + ends[path[-1]]
            score = (score + transitions[path[:-1], path[1:]].sum()) / self.temperature
            shown = tuple((s, e, names[own]) for s, e, own in fine if own in names)
            score += self.added(fine, shown)
            if score > -np.inf:
                found[shown].append(score)
        sums = [(float(np.logaddexp.reduce(each)), list(s)) for s, each in found.items()]
        return sorted(sums, reverse=True)

    def added(self, fine: list[EntitySpan], shown: tuple[Span, ...]) -> float:
        given, odds = self.constraints, 0.0
        if not set(given.fixed) <= set(shown):
            return -math.inf
        for span in fine:
            if (span.start, span.end) in [s[:2] for s in given.fixed]:
                continue
            for start, end, _ in given.outside:
                if span.start < end and start < span.end:
                    return -math.inf
            odds += given.log_odds.get(span, 0.0)
            for (start, end, _), more in given.within.items():
                odds += more if start <= span.start and span.end <= end else 0.0
        return odds


SAME = {label: [label] for label in LABELS}
cases = st.builds(
    Case,
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 3, 4]),
    st.sampled_from([SAME, {"X": ["A", "B"], "C": ["C"]}]),
)


@settings(max_examples=60, deadline=None)
@given(cases)
def test_best_annotations_and_probabilities(case: Case) -> None:
    expected, crf, names = case.annotations(), case.crf, [*case.labels]
    total = float(np.logaddexp.reduce([odds for odds, _ in expected]))
    by_spans = {str(spans): odds - total for odds, spans in expected}
    for k in (1, 7, 10**6):
        found = crf.best(k)[1]
        assert len(found) == len({str(spans) for _, spans in found}) == min(k, len(expected))
        best = [odds - total for odds, _ in expected][:k]
        assert [odds - crf.log_partition[1] for odds, _ in found] == pytest.approx(best, abs=1e-6)
        for share, (_, spans) in zip(best, found, strict=True):
            named = [(start, end, names[number]) for start, end, number in spans]
            assert by_spans[str(named)] == pytest.approx(share, abs=1e-5)
    shares: dict[Span, float] = defaultdict(float)
    for odds, spans in expected:
        for span in spans:
            shares[span] += math.exp(odds - total)
    above = {(s, e, names[n]): share for (s, e, n), share in crf.above(1e-4)[1].items()}
    assert above == pytest.approx({s: share for s, share in shares.items() if share >= 1e-4})
    asked = [(1, start, end, names.index(label)) for start, end, label in shares]
    assert crf.probabilities(Arcs.of(asked)) == pytest.approx([*shares.values()], abs=1e-7)


@pytest.mark.parametrize("factor", [10, 40])
def test_scores_that_are_far_apart(factor: float) -> None:
    for seed in range(20):
        case = Case(seed, 4, SAME)
        case.scores = Scores(*(each * factor for each in case.scores))
        expected = case.annotations()
        total = np.logaddexp.reduce([odds for odds, _ in expected])
        crf = case.crf
        ((odds, spans),) = crf.best(1)[1]
        share = odds - crf.log_partition[1]
        assert share == pytest.approx(expected[0][0] - total, abs=1e-5)
        assert [(s, e, LABELS[n]) for s, e, n in spans] == expected[0][1]


def plain(n: int, odds: np.ndarray[Any, Any], labels: Sequence[str] = LABELS[:1]) -> SemiMarkovCRF:
    """With no scores but these odds, and labels that are one in Docs."""
    tags = TagSet(labels)
    sizes = (1, n, len(tags)), (len(tags),) * 2, (len(tags),), (len(tags),)
    scores = Scores(*(np.zeros(size) for size in sizes))
    return SemiMarkovCRF(tags, scores, np.array([n]), np.zeros(len(labels), np.int64), odds)


def test_of_equal_annotations_one_is_chosen() -> None:
    ((_, spans),) = plain(4, np.zeros((5, 5, 1, 1), np.float32)).best()[0]
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_required_entities_do_not_hide_small_differences() -> None:
    odds = np.full((5, 5, 1, 1), -np.inf, np.float32)
    odds[2, 0], odds[4, 3] = REQUIRED, -1e-4
    assert plain(4, odds).best()[0][0][1] == [(0, 2, 0)]


def test_odds_that_are_moved_are_added() -> None:
    odds = np.full((4, 4, 1, 1), -np.inf, np.float32)
    odds[3, 0] = odds[3, 1] = 0.0
    crf = plain(3, odds)
    crf.move(Arcs.of([(0, 0, 3, 0)]), np.array([1]), np.array([3]))
    arcs = Arcs.of([(0, 0, 3, 0), (0, 1, 3, 0)])
    assert crf.probabilities(arcs) == pytest.approx([0, 2 / 3])


def test_a_label_of_docs_is_as_probable_as_its_labels_together() -> None:
    crf = plain(1, np.zeros((2, 2, 1, 1), np.float32), LABELS)
    assert crf.above(0.7) == [{(0, 1, 0): pytest.approx(0.75)}]
