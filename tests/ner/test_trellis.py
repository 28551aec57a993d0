"""The trellis against all tag sequences of short segments, one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_flat.ner.tags import Scheme, tag_set
from spacy_flat.ner.trellis import Scores, Trellis
from spacy_flat.text.units import EntitySpan

from .paths import legal_paths

LABELS = ("A", "B")


def spans_of(tags: Any, path: Any) -> list[EntitySpan]:
    found = tags.decode(np.array(path))
    columns = (column.tolist() for column in found)
    return [EntitySpan(s, e, LABELS[n]) for s, e, n in zip(*columns, strict=True)]


class Case:
    """Two random segments, with scores of entities for the second one, or both."""

    def __init__(self, seed: int, scheme: Scheme, lengths: tuple[int, int]) -> None:
        noise = np.random.default_rng(seed)
        tags = self.tags = tag_set(LABELS, scheme)
        K, C = len(tags), max(lengths)
        self.scores = Scores(
            *(noise.normal(size=size) * 2 for size in ((2, C, K), (K, K), (K,), (K,)))
        )
        self.lengths = np.array(lengths)
        self.barred = noise.random((2, C)) < 0.1
        self.letters = noise.random((2, C)) < 0.8
        self.allowed = np.ones((2, C, K), dtype=bool)
        self.spans: list[dict[EntitySpan, float]] = [{}, {}]
        for row in (0, 1) if seed % 3 else (1,):
            for _ in range(noise.integers(0, 5)):
                start = int(noise.integers(0, lengths[row]))
                end = int(noise.integers(start + 1, lengths[row] + 1))
                score = float(noise.choice([3, 1, -2, -np.inf, 500]))
                self.spans[row][EntitySpan(start, end, str(noise.choice(LABELS)))] = score
        self.temperature = float(noise.choice([1.0, 0.5, 2.0]))
        self.trellis = Trellis(
            *(tags, self.scores, self.lengths, self.allowed, self.barred, self.letters),
            *(self.spans, self.temperature),
        )

    def all_paths(self, row: int) -> list[tuple[float, list[EntitySpan]]]:
        """Scores and entities, the best first; those whose score is -inf aren't there."""
        n, found = int(self.lengths[row]), []
        emissions, transitions, starts, ends = self.scores
        for path in legal_paths(self.tags, n):
            spans = spans_of(self.tags, path)
            if any(
                self.barred[row, s.start : s.end].any()
                or not self.letters[row, s.start : s.end].any()
                for s in spans
            ):
                continue
            score = emissions[row, range(n), path].sum() + starts[path[0]] + ends[path[-1]]
            score += transitions[path[:-1], path[1:]].sum()
            score += sum(self.spans[row].get(span, 0) for span in spans)
            if score > -np.inf:
                found.append((float(score), spans))
        return sorted(found, reverse=True)


cases = st.builds(
    Case,
    st.integers(0, 10**6),
    st.sampled_from(["BIOES", "BIO"]),
    st.sampled_from([(1, 4), (4, 3), (2, 1), (3, 4)]),
)


@settings(max_examples=150, deadline=None)
@given(cases)
def test_the_best_sequences(case: Case) -> None:
    for row in (0, 1):
        expected = case.all_paths(row)
        for k in (1, 7, 10**6):
            found = case.trellis.paths(row, k)
            assert len(found) == min(k, len(expected))
            for (score, _), (best, _) in zip(found, expected, strict=False):
                assert score == pytest.approx(best)
            got = [spans_of(case.tags, path) for _, path in found]
            assert len({str(spans) for spans in got}) == len(got)
        by_score = {str(spans): score for score, spans in expected}
        assert all(by_score[str(spans_of(case.tags, p))] == pytest.approx(s) for s, p in found)


@settings(max_examples=150, deadline=None)
@given(cases)
def test_probabilities(case: Case) -> None:
    for row in (0, 1):
        n = int(case.lengths[row])
        paths = case.all_paths(row)
        most = paths[0][0]
        weights = np.exp((np.array([score for score, _ in paths]) - most) / case.temperature)
        total = weights.sum()
        expected_log = np.log(total) + most / case.temperature
        assert case.trellis.log_partition(row) == pytest.approx(expected_log)
        shares: dict[EntitySpan, float] = {}
        for weight, (_, spans) in zip(weights, paths, strict=True):
            for span in spans:
                shares[span] = shares.get(span, 0) + weight / total
        above = case.trellis.starts_above(row, 0.2)
        for label in LABELS:
            for start in range(n):
                found = np.exp(case.trellis.log_probabilities(row, start, label))
                ends = range(start + 1, n + 1)
                expected = [shares.get(EntitySpan(start, end, label), 0) for end in ends]
                np.testing.assert_allclose(found, expected, atol=1e-9)
                if abs(sum(expected) - 0.2) > 1e-6:
                    assert ((start, label) in above) == (sum(expected) > 0.2)


@settings(max_examples=100, deadline=None)
@given(cases, st.sampled_from([40, 80, 150, 250, 300]))
def test_no_sequence_is_lost(case: Case, factor: int) -> None:
    """Where some scores are as far apart as exponents reach."""
    case.scores = Scores(*(each * factor for each in case.scores))
    case.spans = [{}, {}]
    trellis = Trellis(
        *(case.tags, case.scores, case.lengths, case.allowed, case.barred, case.letters, [{}, {}])
    )
    for row in (0, 1):
        scores = [score for score, _ in case.all_paths(row)]
        assert trellis.log_partition(row) == pytest.approx(np.logaddexp.reduce(scores))


@settings(max_examples=20, deadline=None)
@given(cases)
def test_at_another_temperature(case: Case) -> None:
    before = case.trellis.log_partition(0)
    for temperature in (0.5, 3.0):
        scores = np.array([score for score, _ in case.all_paths(0)]) / temperature
        found = case.trellis.at(temperature).log_partition(0)
        assert found == pytest.approx(np.logaddexp.reduce(scores))
    assert case.trellis.log_partition(0) == before
