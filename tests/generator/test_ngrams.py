"""N-grams, beside a slow reference of Kneser–Ney with dictionaries."""

import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from copies import copies_of
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.util import load_model_from_config

from spacy_flat.compress import Compactor, CompressConfig
from spacy_flat.generator.ngrams import ORDER, NGrams, count_ngrams

from .conftest import POEMS, TEXTS, found, generator, make

START, END, KEYS = 0, 1, 9
Texts = list[list[int]]

texts_of_keys = st.lists(st.lists(st.integers(2, KEYS - 1), max_size=12), min_size=1, max_size=20)


class Reference:
    """Modified Kneser–Ney (Chen & Goodman, 1999), one probability at a time."""

    def __init__(self, texts: Texts) -> None:
        before: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for text in texts:
            keys = [START] * ORDER + text + [END]
            for end in range(ORDER, len(keys)):
                for n in range(1, ORDER + 1):
                    before[tuple(keys[end - n + 1 : end + 1])].append(keys[end - n])
        self.counts = {
            ngram: len(keys) if len(ngram) == ORDER or ngram[0] == START else len(set(keys))
            for ngram, keys in before.items()
        }
        self.discounts = {n: self.estimate(n) for n in range(1, ORDER + 1)}

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
        keys = [START] * ORDER + text + [END]
        return [
            -math.log(self.probability(tuple(keys[end - ORDER + 1 : end]), keys[end]))
            for end in range(ORDER, len(keys))
        ]


def count(texts: Texts, most: int | None = None) -> NGrams:
    keys = [np.array(text, dtype=np.int64) for text in texts]
    return count_ngrams(keys, KEYS, (START, END), most)


def surprisals(ngrams: NGrams, text: list[int]) -> Any:
    return ngrams.surprisals(np.array([*text, END]))


def packed(ngrams: NGrams) -> NGrams:
    return NGrams.unpacked(ngrams.sizes, KEYS, START, ngrams.packed())


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
    assert sum(kept.sizes) - kept.sizes[0] <= most * (ORDER - 1)
    for ngrams in (count(texts), kept, packed(kept)):
        contexts = ngrams.contexts(np.array(other, dtype=np.int64))
        logs = ngrams.all_log_probs(contexts)
        assert np.exp(logs).sum(axis=1) == pytest.approx(1)
        own = logs[np.arange(len(other) + 1), [*other, END]]
        assert -own == pytest.approx(surprisals(ngrams, other))


TRAINING = [[2, 3, 4, 5, 6, 7, 8], [2, 3, 4, 5, 8], [8, 7, 6, 2, 3]] * 6 + [[5, 4], [6, 8, 2]]


def test_what_is_kept_is_what_texts_lose_most_without() -> None:
    whole = sum(surprisals(count(TRAINING), text).sum() for text in TRAINING)
    loss = {}
    for most in (1, 4, 10, 20, 1000):
        ngrams = count(TRAINING, most)
        loss[most] = sum(surprisals(ngrams, text).sum() for text in TRAINING)
    assert list(loss.values()) == sorted(loss.values(), reverse=True)
    assert loss[1000] == pytest.approx(whole)
    assert loss[10] < 0.7 * loss[1]
    assert count(TRAINING, 1).sizes == [KEYS - 1 + 1, 1]  # with the start mark


def test_packed_ngrams_are_rounded_little() -> None:
    ngrams = count(TRAINING)
    again = packed(ngrams)
    for one, other in zip(ngrams.orders, again.orders, strict=True):
        assert (one.codes == other.codes).all()
        assert (other.own <= one.own + 1e-9).all()
        assert other.own == pytest.approx(one.own, rel=0.06, abs=2e-6)
        assert (other.left > 0).all()
    twice = packed(again)
    assert all(
        (one.own == other.own).all() for one, other in zip(again.orders, twice.orders, strict=True)
    )


# Beside a network


NGRAMS = {"ngrams": 30}


def test_scores_are_by_the_mean_of_both_probabilities() -> None:
    plain, beside = make(steps=5), make(NGRAMS, steps=5)
    featuriser = generator(beside).model.attrs["featuriser"]
    table = generator(beside).model.shims[0].module.ngrams
    assert sum(table.sizes) > table.sizes[0] + 20
    for text in [*TEXTS, "明月xyz", POEMS[0] * 30]:
        (network,), (both,) = (
            generator(nlp).predict([nlp.make_doc(text)]) for nlp in (plain, beside)
        )
        keys = np.append(featuriser.keys(text), featuriser.marks[1])
        ngrams = np.exp(-table.unpacked.surprisals(keys))
        mean = (np.exp(-network.surprisals) + ngrams) / 2
        assert both.surprisals == pytest.approx(-np.log(mean), rel=1e-4)


def test_writing_and_training_are_by_the_network() -> None:
    plain, beside = make(steps=5), make(NGRAMS, steps=5)
    written = generator(plain).generate(n=3, seed=1)
    assert generator(beside).generate(n=3, seed=1) == written
    state = generator(plain).model.shims[0].module.state_dict()
    others = generator(beside).model.shims[0].module.state_dict()
    assert all((others[name] == value).all() for name, value in state.items())
    assert others.keys() - state.keys() == {"ngrams.lasts", "ngrams.branches", "ngrams.levels"}


def test_copies_score_the_same(tmp_path: Path) -> None:
    nlp = make(NGRAMS, steps=5)
    expected = found(nlp, TEXTS)
    for again in copies_of(nlp, "char_generator", tmp_path):
        assert found(again, TEXTS) == expected


def test_the_number_kept_is_fixed() -> None:
    nlp = make(NGRAMS, texts=POEMS, steps=1)
    assert nlp(POEMS[0])._.perplexity < make(texts=POEMS, steps=1)(POEMS[0])._.perplexity - 5
    config = nlp.config.copy()
    config["components"]["char_generator"]["model"]["network"]["ngrams"] = 7
    with pytest.raises(ValueError, match="F307"):
        load_model_from_config(config).from_bytes(nlp.to_bytes())


def test_compact_networks_keep_them(tmp_path: Path) -> None:
    nlp = make(NGRAMS, steps=5)
    table = generator(nlp).model.shims[0].module.ngrams.state_dict()
    Compactor(nlp).apply(CompressConfig(bits=4))
    nlp.to_disk(tmp_path)
    again = generator(spacy.load(tmp_path)).model.shims[0].module.ngrams
    assert all((again.state_dict()[name] == values).all() for name, values in table.items())
