"""Interpolated Kneser–Ney n-grams of keys, with which a language model is compared.

"Modified" as by Chen & Goodman (1999): three discounts an order, estimated from the counts of
counts. N-grams that begin a text have their own counts in place of those of what precedes them.

Shapes: N all keys with marks, U distinct n-grams.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Stream:
    """Texts one after the other, each between `order` − 1 start marks and an end mark.

    keys: [N]
    predicted: [N] the keys of texts and their end marks
    """

    keys: Ints
    predicted: Mask

    @classmethod
    def of(cls, texts: Sequence[Ints], start: int, end: int, order: int) -> "Stream":
        starts = [start] * max(1, order - 1)
        keys = np.concatenate([part for text in texts for part in (starts, text, [end])])
        return cls(keys.astype(np.int64), keys != start)


@dataclass(frozen=True)
class Order:
    """The n-grams of one length.

    codes: [U] sorted; number of the n-gram without its last key, times K, plus that key
    discounted: [U] probability that it has of its own
    left: of each context, by its number, the probability that goes to the shorter n-grams; 1 for a
        context after which nothing came
    """

    codes: Ints
    discounted: Floats
    left: Floats

    def look_up(self, contexts: Ints, codes: Ints) -> tuple[Ints, Floats, Floats]:
        """The numbers of n-grams, −1 for unknown ones, their own probabilities, and what their
        contexts leave to shorter ones.

        contexts: numbers of the n-grams without their last keys, −1 for unknown ones.
        """
        known = contexts >= 0
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        found = known & (self.codes[places] == codes)
        left = np.where(known, self.left[np.maximum(contexts, 0)], 1.0)
        return np.where(found, places, -1), np.where(found, self.discounted[places], 0.0), left


class KneserNey:
    """P(key | the order − 1 keys before it), over `n_keys` keys without the start mark."""

    def __init__(self, texts: Sequence[Ints], n_keys: int, marks: tuple[int, int], order: int):
        self.n_keys, self.marks, self.order = n_keys, marks, order
        stream = Stream.of(texts, *marks, order)
        numbers = [
            np.zeros(len(stream.keys), dtype=np.int64)
        ]  # of the n-gram that ends at each key
        codes: list[Ints] = []
        for _ in range(order):
            found, ids = np.unique(self._codes(numbers[-1], stream.keys), return_inverse=True)
            codes.append(found)
            numbers.append(ids)
        self.orders = [
            make_order(codes[n - 1], self._counts(stream, numbers, n), n_keys, len(before))
            for n, before in enumerate([np.zeros(1), *codes[:-1]], 1)
        ]

    def surprisals(self, texts: Sequence[Ints]) -> list[Floats]:
        """−ln P of each key of each text and of its end."""
        stream = Stream.of(texts, *self.marks, self.order)
        numbers = np.zeros(len(stream.keys), dtype=np.int64)
        probabilities = np.full(len(stream.keys), 1 / (self.n_keys - 1))
        for order in self.orders:
            contexts = before(numbers)
            numbers, own, left = order.look_up(contexts, contexts * self.n_keys + stream.keys)
            probabilities = own + left * probabilities
        surprisals = -np.log(probabilities[stream.predicted])
        return np.split(surprisals, np.cumsum([len(text) + 1 for text in texts])[:-1])

    def distribution(self, text: Sequence[int] | Ints) -> Floats:
        """[K] P of each key after a text; 0 for the start mark."""
        stream = np.array([*[self.marks[0]] * max(1, self.order - 1), *text])
        numbers = np.zeros(len(stream), dtype=np.int64)
        keys = np.arange(self.n_keys)
        probabilities = np.full(self.n_keys, 1 / (self.n_keys - 1))
        for order in self.orders:
            last = np.full(self.n_keys, numbers[-1])
            _, own, left = order.look_up(last, last * self.n_keys + keys)
            probabilities = own + left * probabilities
            contexts = before(numbers)
            numbers, *_ = order.look_up(contexts, contexts * self.n_keys + stream)
        probabilities[self.marks[0]] = 0
        return probabilities

    def _codes(self, numbers: Ints, keys: Ints) -> Ints:
        """Of the n-grams that end at each key, by the numbers of those that end before it."""
        return before(numbers) * self.n_keys + keys

    def _counts(self, stream: Stream, numbers: Sequence[Ints], n: int) -> Ints:
        """[U] how often each n-gram came, or of those shorter than the longest and not at the start
        of a text, behind how many different keys."""
        size = int(numbers[n].max()) + 1
        ends = np.flatnonzero(stream.predicted)
        counts = np.bincount(numbers[n][ends], minlength=size)
        if n == self.order:
            return counts
        _, first = np.unique(numbers[n + 1][ends], return_index=True)
        continued = np.bincount(numbers[n][ends[first]], minlength=size)
        begins = stream.keys[ends - n + 1] == self.marks[0]
        at_start = np.bincount(numbers[n][ends[begins]], minlength=size) > 0
        return np.where(at_start, counts, continued)


def before(numbers: Ints) -> Ints:
    """The numbers of what ends one key earlier."""
    return np.concatenate([numbers[:1] * 0, numbers[:-1]])


def make_order(codes: Ints, counts: Ints, n_keys: int, n_contexts: int) -> Order:
    """Discount counts [U], and share out what is left."""
    contexts = codes // n_keys
    discounts = np.concatenate([[0.0], estimate_discounts(counts)])
    taken = discounts[np.minimum(counts, 3)]
    totals = np.bincount(contexts, counts, n_contexts)
    left = np.ones(n_contexts)
    np.divide(np.bincount(contexts, taken, n_contexts), totals, out=left, where=totals > 0)
    return Order(codes, (counts - taken) / np.maximum(totals[contexts], 1), left)


def estimate_discounts(counts: Ints) -> Floats:
    """Of counts of 1, 2, and 3 or more; those that KenLM falls back on where there are none."""
    n1, n2, n3, n4 = (int((counts == times).sum()) for times in (1, 2, 3, 4))
    if not n1 * n2 * n3:
        return np.array([0.5, 1.0, 1.5])
    share = n1 / (n1 + 2 * n2)
    found = np.array([1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3])
    return np.clip(found, 0, [1, 2, 3])
