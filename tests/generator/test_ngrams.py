"""N-grams, beside a slow reference of Kneser–Ney with dictionaries."""

import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from spacy_flat.generator.ngrams import MAX_ORDER, N_BEFORE, NGrams, count_ngrams

from .conftest import POEMS, TEXTS, generator, make

START, END, KEYS = 0, 1, 9
Texts = list[list[int]]

texts_of_keys = st.lists(st.lists(st.integers(2, KEYS - 1), max_size=12), min_size=1, max_size=20)


class Reference:
    """Modified Kneser–Ney (Chen & Goodman, 1999), one probability at a time."""

    def __init__(self, texts: Texts) -> None:
        before: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for text in texts:
            keys = [START] * MAX_ORDER + text + [END]
            for end in range(MAX_ORDER, len(keys)):
                for n in range(1, MAX_ORDER + 1):
                    before[tuple(keys[end - n + 1 : end + 1])].append(keys[end - n])
        self.counts = {
            ngram: len(keys) if len(ngram) == MAX_ORDER or ngram[0] == START else len(set(keys))
            for ngram, keys in before.items()
        }
        self.discounts = {n: self.estimate(n) for n in range(1, MAX_ORDER + 1)}

    def estimate(self, n: int) -> list[float]:
        times = Counter(count for ngram, count in self.counts.items() if len(ngram) == n)
        if not times[1] * times[2] * times[3]:
            return [0, 0.5, 1, 1.5]
        share = times[1] / (times[1] + 2 * times[2])
        found = [k - (k + 1) * share * times[k + 1] / times[k] for k in (1, 2, 3)]
        return [0.0, *(min(max(each, 0), k) for k, each in enumerate(found, 1))]

    def probability(self, context: tuple[int, ...], key: int) -> float:
        shorter = self.probability(context[1:], key) if context else 1 / (KEYS - 1)
        counts = [self.counts.get((*context, other), 0) for other in range(KEYS)]
        if not sum(counts):
            return shorter
        discounts = self.discounts[len(context) + 1]
        taken = [discounts[min(count, 3)] for count in counts]
        return (counts[key] - taken[key] + sum(taken) * shorter) / sum(counts)

    def surprisals(self, text: list[int]) -> list[float]:
        keys = [START] * MAX_ORDER + text + [END]
        return [
            -math.log(self.probability(tuple(keys[end - MAX_ORDER + 1 : end]), keys[end]))
            for end in range(MAX_ORDER, len(keys))
        ]


def count(texts: Texts, most: int = 10**9) -> NGrams:
    keys = [np.array(text, dtype=np.int64) for text in texts]
    return count_ngrams(keys, KEYS, (START, END), most)


def surprisals(ngrams: NGrams, text: list[int]) -> Any:
    return -ngrams.log_probs(np.array([START] * N_BEFORE + text + [END]))


def sizes(ngrams: NGrams) -> list[int]:
    return [len(order.codes) for order in ngrams.orders]


def packed(ngrams: NGrams) -> NGrams:
    return NGrams.unpacked(sizes(ngrams), KEYS, ngrams.packed())


@settings(deadline=None, max_examples=50)
@given(texts_of_keys, st.lists(st.integers(2, KEYS - 1), max_size=12))
def test_probabilities_are_those_of_the_reference(texts: Texts, other: list[int]) -> None:
    ngrams, reference = count(texts), Reference(texts)
    for text in [*texts, other]:
        # A discount of 0 leaves nothing to what has not occurred.
        if all(all(each[1:]) for each in reference.discounts.values()):
            assert surprisals(ngrams, text) == pytest.approx(reference.surprisals(text))


@settings(deadline=None, max_examples=50)
@given(texts_of_keys, st.lists(st.integers(2, KEYS - 1), max_size=12), st.integers(1, 60))
def test_probabilities_add_up_to_1(texts: Texts, other: list[int], most: int) -> None:
    kept = count(texts, most)
    assert sum(sizes(kept)[1:]) <= most * (MAX_ORDER - 1)
    keys = np.array([START] * N_BEFORE + other)
    contexts = sliding_window_view(keys, N_BEFORE)[:, None].repeat(KEYS, axis=1)
    every = np.broadcast_to(np.arange(KEYS)[:, None], (len(contexts), KEYS, 1))
    for ngrams in (count(texts), kept, packed(kept)):
        logs = ngrams.log_probs(np.concatenate([contexts, every], axis=2))[..., 0]
        assert np.exp(logs[:, 1:]).sum(axis=1) == pytest.approx(1)
        own = logs[np.arange(len(other) + 1), [*other, END]]
        assert -own == pytest.approx(surprisals(ngrams, other))


TRAINING = [[2, 3, 4, 5, 6, 7, 8], [2, 3, 4, 5, 8], [8, 7, 6, 2, 3]] * 6 + [[5, 4], [6, 8, 2]]


def test_the_most_useful_ngrams_are_kept() -> None:
    means = [
        np.mean([surprisals(count(TRAINING, n), text).mean() for text in TRAINING])
        for n in (1, 10, 35, 10**9)
    ]
    assert means == sorted(means, reverse=True)
    assert means[2] < (means[0] + means[3]) / 2
    (pair,) = count(TRAINING, 1).orders[1].codes
    assert divmod(int(pair), KEYS) == (START, 2)  # as most texts begin


def test_packed_ngrams_are_rounded_little() -> None:
    ngrams = count(TRAINING)
    again = packed(ngrams)
    for one, other in zip(ngrams.orders, again.orders, strict=True):
        assert (one.codes == other.codes).all()
        assert (other.discounted <= one.discounted + 1e-9).all()
        assert other.discounted == pytest.approx(one.discounted, rel=0.06, abs=2e-6)


def test_beside_a_network() -> None:
    """Scores are by the mean of both probabilities, training and writing by the network."""
    plain, beside = make(steps=5), make({"ngrams": 30}, steps=5)
    featuriser = generator(beside).model.attrs["featuriser"]
    table = generator(beside).model.shims[0].module.ngrams
    assert sum(table.sizes) > table.sizes[0] + 20
    for text in [*TEXTS, "明月xyz", POEMS[0] * 30]:
        (network,), (both,) = (
            generator(nlp).predict([nlp.make_doc(text)]) for nlp in (plain, beside)
        )
        ngrams = np.exp(table.unpacked.log_probs(featuriser.marked(text, N_BEFORE)))
        mean = (np.exp(-network.surprisals) + ngrams) / 2
        assert both.surprisals == pytest.approx(-np.log(mean), rel=1e-4)
    written = generator(plain).generate(n=3, seed=1)
    assert generator(beside).generate(n=3, seed=1) == written
    state = generator(plain).model.shims[0].module.state_dict()
    others = generator(beside).model.shims[0].module.state_dict()
    assert all((others[name] == value).all() for name, value in state.items())
