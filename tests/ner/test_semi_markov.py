"""The lattice of entities against all annotations of short segments, one by one."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_flat.ner.constraints import SpanConstraints
from spacy_flat.ner.decoding import Decoding, lattice_of
from spacy_flat.ner.rules import UnitRules
from spacy_flat.ner.semi_markov import Scores, SpanScores
from spacy_flat.ner.tags import Scheme, tag_set
from spacy_flat.text.units import EntitySpan

from .paths import legal_paths

LABELS = ("A", "B", "C")
Span = tuple[int, int, str]


class Case:
    """A random segment with rules and constraints, after another one that has none. "A" and "B" are
    "X" for Docs, and "C" may be nothing."""

    def __init__(self, seed: int, scheme: Scheme, n: int, labels: dict[str, list[str]]) -> None:
        noise = self.noise = np.random.default_rng(seed)
        tags = self.tags = tag_set(LABELS, scheme)
        K = len(tags)
        self.n, self.labels = n, labels
        self.scores = Scores(
            *(noise.normal(size=size) * 2 for size in ((2, 4, K), (K, K), (K,), (K,)))
        )
        self.temperature = float(noise.choice([1.0, 0.5, 2.0]))
        self.letters, self.barred = noise.random(n) < 0.8, noise.random(n) < 0.1
        self.constraints = SpanConstraints()
        for _ in range(noise.integers(0, 4)):
            odds = float(noise.choice([3, 1, -2, -np.inf, 12]))
            self.constraints.log_odds[self.span(str(noise.choice(LABELS)))] = odds
        if noise.random() < 0.3:
            self.constraints.within[self.span("")] = float(noise.choice([-3, -np.inf]))
        if noise.random() < 0.3:
            stretch = self.span(str(noise.choice([*labels])))
            (self.constraints.fixed if noise.random() < 0.5 else self.constraints.outside).append(
                stretch
            )

    def span(self, label: str) -> EntitySpan:
        start = int(self.noise.integers(0, self.n))
        return EntitySpan(start, int(self.noise.integers(start + 1, self.n + 1)), label)

    @property
    def lattice(self) -> Any:
        decoding = Decoding(self.tags, self.labels, temperature=self.temperature)
        scores = SpanScores(self.tags, self.scores, np.array([4, self.n]), self.temperature)
        sums = (np.append(0, each.cumsum()) for each in (self.barred, self.letters))
        same, own = np.zeros(self.n, np.int64), np.arange(self.n)
        free = UnitRules(
            np.zeros(5, np.int64), np.arange(5), *[np.zeros(4, np.int64)] * 2, np.arange(4)
        )
        rules = UnitRules.padded([free, UnitRules(*sums, same, same, own)], 4)
        return lattice_of(scores, decoding, rules, [SpanConstraints(), self.constraints])

    def annotations(self) -> list[tuple[float, list[Span]]]:
        """All with their log-odds to each other, the best first."""
        names = {own: name for name, each in self.labels.items() for own in each}
        emissions, transitions, starts, ends = self.scores
        found: dict[tuple[Span, ...], list[float]] = defaultdict(list)
        for path in legal_paths(self.tags, self.n):
            spans = zip(*(c.tolist() for c in self.tags.decode(np.array(path))), strict=True)
            fine = [EntitySpan(start, end, LABELS[label]) for start, end, label in spans]
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
            units = range(span.start, span.end)
            if not self.letters[units].any() or self.barred[units].any():
                return -math.inf
            for start, end, _ in given.outside:
                if span.start < end and start < span.end:
                    return -math.inf
            odds += given.log_odds.get(span, 0.0)
            for (start, end, _), more in given.within.items():
                odds += more if start <= span.start and span.end <= end else 0.0
        return odds


cases = st.builds(
    Case,
    st.integers(0, 10**6),
    st.sampled_from(["BIOES", "BIO"]),
    st.sampled_from([1, 2, 3, 4]),
    st.sampled_from(
        [{label: [label] for label in LABELS}, {"X": ["A", "B"], "C": ["C"]}, {"X": ["A", "B"]}]
    ),
)


@settings(max_examples=150, deadline=None)
@given(cases)
def test_best_annotations_and_probabilities(case: Case) -> None:
    expected, lattice, names = case.annotations(), case.lattice, [*case.labels]
    total = float(np.logaddexp.reduce([odds for odds, _ in expected]))
    for k in (1, 7, 10**6):
        found = lattice.best(1, k)
        best = [odds - total for odds, _ in expected if odds - total > -10][:k]
        assert [share for share, _ in found][: len(best)] == pytest.approx(best, abs=1e-3)
        assert len({str(spans) for _, spans in found}) == len(found) <= len(expected)
    by_spans = {str(spans): odds - total for odds, spans in expected}
    for share, spans in found:
        named = [(start, end, names[number]) for start, end, number in spans]
        assert share < -10 or by_spans[str(named)] == pytest.approx(share, abs=1e-3)
    shares: dict[Span, float] = defaultdict(float)
    for odds, spans in expected:
        for span in spans:
            shares[span] += math.exp(odds - total)
    above = {(s, e, names[n]): share for (s, e, n), share in lattice.above(1).items()}
    assert set(above) <= set(shares)
    for span, share in shares.items():
        assert above.get(span, 0.0) == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("factor", [10, 40])
@pytest.mark.parametrize("scheme", ["BIOES", "BIO"])
def test_scores_that_are_far_apart(scheme: Scheme, factor: float) -> None:
    for seed in range(20):
        case = Case(seed, scheme, 4, {label: [label] for label in LABELS})
        case.scores = Scores(*(each * factor for each in case.scores))
        expected = case.annotations()
        total = np.logaddexp.reduce([odds for odds, _ in expected])
        ((share, spans),) = case.lattice.best(1)
        assert share == pytest.approx(expected[0][0] - total, abs=1e-5)
        assert [(s, e, LABELS[n]) for s, e, n in spans] == expected[0][1]


def test_nan_is_refused() -> None:
    case = Case(0, "BIO", 3, {"A": ["A"]})
    case.scores.emissions[1, 0, 0] = math.nan
    with pytest.raises(ValueError, match="F240"):
        case.lattice.best(1)
