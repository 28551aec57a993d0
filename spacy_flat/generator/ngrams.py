"""N-grams of keys, with interpolated Kneser–Ney probabilities.

"Modified" as by Chen & Goodman (1999): three discounts an order, estimated from the counts of
counts. N-grams that begin a text have their own counts in place of those of what precedes them.

Shapes: C keys of all texts with marks, U distinct n-grams of one order, P places, K keys, O the
longest n-grams' keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..util.arrays import Bools, Float64s, Ints

ORDER = 5
LEVELS = 18.0  # of own probabilities per nat, down to 1e-6
TINY = 1e-9


@dataclass(frozen=True)
class Order:
    """The n-grams of one length.

    n_keys: K
    codes: [U] sorted: the number of the n-gram without its last key, its context, times K, plus
        that key. Its place here is its own number.
    own: [U] the probability that it has by itself
    left: of each context, by its number, the probability that goes to the shorter n-grams
    """

    n_keys: int
    codes: Ints
    own: Float64s
    left: Float64s

    @cached_property
    def begins(self) -> Ints:
        """Where the n-grams of each context begin in `codes`, and the end of the last."""
        return np.searchsorted(self.codes, np.arange(len(self.left) + 1) * self.n_keys)

    def find(self, contexts: Ints, keys: Ints) -> Ints:
        """The numbers of n-grams; −1 for unknown ones, and after a context of −1."""
        codes = contexts * self.n_keys + keys
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where((contexts >= 0) & (self.codes[places] == codes), places, -1)

    def left_after(self, contexts: Ints) -> Float64s:
        """What is left to shorter n-grams; all after unknown contexts."""
        return np.where(contexts >= 0, self.left[contexts], 1.0)


class NGrams:
    """P(key | the O − 1 keys before it), over K keys without the start mark."""

    def __init__(self, orders: Sequence[Order], start: int) -> None:
        self.orders = orders
        self.start = start
        self.n_keys = orders[0].n_keys
        self.reach = len(orders) - 1  # keys before it that count

    @property
    def sizes(self) -> list[int]:
        """The n-grams of each length."""
        return [len(order.codes) for order in self.orders]

    def surprisals(self, keys: Ints) -> Float64s:
        """[C] −ln P of each key of a text, which may end with the end mark."""
        return -self.log_probs(self.contexts(keys[:-1]), keys)

    def contexts(self, keys: Ints) -> Ints:
        """[C + 1, O − 1] the keys before each key of a text, and after its last one. Before the
        text stand start marks."""
        keys = np.concatenate([np.full(self.reach, self.start), keys])
        return sliding_window_view(keys, self.reach)

    def log_probs(self, contexts: Ints, keys: Ints) -> Float64s:
        """[P] ln P of keys [P] after contexts [P, O − 1]."""
        found = np.full(len(keys), 1 / (self.n_keys - 1))
        for order, numbers in self._numbers(contexts):
            ngrams = order.find(numbers, keys)
            found *= order.left_after(numbers)
            found += np.where(ngrams >= 0, order.own[ngrams], 0.0)
        return _log(found)

    def all_log_probs(self, contexts: Ints) -> Float64s:
        """[P, K] ln P of each key after contexts [P, O − 1]; −∞ for the start mark."""
        found = np.full((len(contexts), self.n_keys), 1 / (self.n_keys - 1))
        found[:, self.start] = 0
        for order, numbers in self._numbers(contexts):
            found *= order.left_after(numbers)[:, None]
            begins = np.where(numbers >= 0, order.begins[numbers], 0)
            counts = np.where(numbers >= 0, order.begins[numbers + 1] - begins, 0)
            rows = np.repeat(np.arange(len(contexts)), counts)
            ngrams = np.arange(len(rows)) + np.repeat(begins - counts.cumsum() + counts, counts)
            found[rows, order.codes[ngrams] % self.n_keys] += order.own[ngrams]
        return _log(found)

    def kept(self, keep: Sequence[Bools]) -> "NGrams":
        """These n-grams only. Shorter ones take over the probability of the others.

        keep: of each order [U], with all contexts of what is kept.
        """
        orders = []
        numbers = np.zeros(1, dtype=np.int64)  # of the contexts in their new order
        renumbered = numbers
        for order, kept in zip(self.orders, keep, strict=True):
            if not kept.any():
                break
            contexts, keys = np.divmod(order.codes, self.n_keys)
            lost = np.bincount(contexts[~kept], order.own[~kept], len(order.left))
            codes = renumbered[contexts[kept]] * self.n_keys + keys[kept]
            left = (order.left + lost)[numbers]
            orders.append(Order(self.n_keys, codes, order.own[kept], left))
            numbers, renumbered = np.flatnonzero(kept), kept.cumsum() - 1
        return NGrams(orders, self.start)

    def packed(self) -> dict[str, NDArray[Any]]:
        """All orders as small numbers, their own probabilities rounded down.

        lasts: the last key of each n-gram.
        branches: of no keys, and of each n-gram but the longest, how many n-grams it is the context
            of.
        levels: −`LEVELS` · ln of the own probability of each n-gram.
        """
        logs = -LEVELS * np.log(np.concatenate([order.own for order in self.orders]) + TINY)
        return {
            "lasts": np.concatenate([each.codes % self.n_keys for each in self.orders]),
            "branches": np.concatenate([np.diff(each.begins) for each in self.orders]),
            "levels": np.ceil(logs.clip(0, 255)).astype(np.uint8),
        }

    @classmethod
    def unpacked(
        cls, sizes: Sequence[int], n_keys: int, start: int, packed: Mapping[str, NDArray[Any]]
    ) -> "NGrams":
        """From `packed` and `sizes`. Each context leaves what its n-grams don't have."""
        places = np.cumsum([0, *sizes])
        orders = []
        n_contexts, at = 1, 0
        for begin, end in pairwise(places.tolist()):
            branches = packed["branches"][at : at + n_contexts]
            contexts = np.repeat(np.arange(n_contexts), branches)
            own = np.exp(packed["levels"][begin:end] / -LEVELS)
            own[packed["levels"][begin:end] == 255] = 0
            left = (1.0 - np.bincount(contexts, own, n_contexts)).clip(0)
            codes = contexts * n_keys + packed["lasts"][begin:end]
            orders.append(Order(n_keys, codes, own, left))
            n_contexts, at = end - begin, at + n_contexts
        return cls(orders, start)

    def _numbers(self, contexts: Ints) -> Iterator[tuple[Order, Ints]]:
        """Yield each order, and the numbers [P] of the n-grams that are its contexts."""
        numbers = np.zeros((len(contexts), self.reach + 1), dtype=np.int64)
        for n, order in enumerate(self.orders):
            yield order, numbers[:, -1]
            numbers = order.find(numbers[:, :-1], contexts[:, n:])


def _log(probabilities: Float64s) -> Float64s:
    with np.errstate(divide="ignore"):
        logs: Float64s = np.log(probabilities)
    return logs


def count_ngrams(
    texts: Sequence[Ints], n_keys: int, marks: tuple[int, int], most: int | None = None
) -> NGrams:
    """The n-grams of up to `ORDER` keys in training texts.

    marks: the start and the end mark.
    most: keep so many of two keys and more, and what these begin with: those without which the
        texts would be least probable, each by itself (weighted difference; Seymore & Rosenfeld,
        1996).
    """
    counts = Counts(texts, n_keys, marks)
    ends = counts.ends
    orders = []
    gains = []  # of each n-gram: nats of all texts
    below = np.full(len(counts.keys), 1 / (n_keys - 1))  # P of each key by shorter n-grams
    for n, codes in enumerate(counts.codes, 1):
        numbers = counts.numbers[n]
        order = _discounted(codes, counts.distinct(n), n_keys, int(counts.numbers[n - 1].max()) + 1)
        shorter = order.left[codes // n_keys][numbers] * below
        below = order.own[numbers] + shorter
        gain = np.zeros(len(codes))
        gain[numbers[ends]] = np.log(below[ends]) - _log(shorter[ends])
        orders.append(order)
        gains.append(gain * counts.occurrences(n))
    ngrams = NGrams(orders, marks[0])
    return ngrams if most is None else ngrams.kept(_best(ngrams, gains, most))


class Counts:
    """The n-grams of texts.

    keys: [C] of the texts one after the other, each between O − 1 start marks and an end mark.
    ends: the places in `keys` of all but start marks.
    codes: of each order [U], as in `Order`.
    numbers: of each order and of none [C], of the n-gram that ends at each key.
    """

    def __init__(self, texts: Sequence[Ints], n_keys: int, marks: tuple[int, int]) -> None:
        self.start, end = marks
        starts = [self.start] * (ORDER - 1)
        self.keys = np.concatenate([part for text in texts for part in (starts, text, [end])])
        self.ends = np.flatnonzero(self.keys != self.start)
        self.codes: list[Ints] = []
        self.numbers: list[Ints] = [np.zeros(len(self.keys), dtype=np.int64)]
        for _ in range(ORDER):
            contexts = np.concatenate([[0], self.numbers[-1][:-1]])
            codes, numbers = np.unique(contexts * n_keys + self.keys, return_inverse=True)
            self.codes.append(codes)
            self.numbers.append(numbers)

    def occurrences(self, n: int) -> Ints:
        """[U] of each n-gram that doesn't end with a start mark."""
        return np.bincount(self.numbers[n][self.ends], minlength=len(self.codes[n - 1]))

    def distinct(self, n: int) -> Ints:
        """[U] after how many different keys each n-gram occurs; its occurrences if it is one of the
        longest or begins a text."""
        occurrences = self.occurrences(n)
        if n == ORDER:
            return occurrences
        own, longer = self.numbers[n], self.numbers[n + 1]
        an_end = np.full(len(self.codes[n]), -1)  # of each longer n-gram
        an_end[longer[self.ends]] = self.ends
        after = np.bincount(own[an_end[an_end >= 0]], minlength=len(occurrences))
        begins = self.keys[self.ends - n + 1] == self.start
        at_start = np.bincount(own[self.ends[begins]], minlength=len(occurrences)) > 0
        return np.where(at_start, occurrences, after)


def _discounted(codes: Ints, counts: Ints, n_keys: int, n_contexts: int) -> Order:
    """The order with probabilities from counts [U]."""
    contexts = codes // n_keys
    discounts = np.concatenate([[0.0], estimate_discounts(counts)])
    taken = discounts[np.minimum(counts, 3)]
    totals = np.bincount(contexts, counts, n_contexts)
    left = np.ones(n_contexts)
    np.divide(np.bincount(contexts, taken, n_contexts), totals, out=left, where=totals > 0)
    return Order(n_keys, codes, (counts - taken) / np.maximum(totals[contexts], 1), left)


def estimate_discounts(counts: Ints) -> Float64s:
    """Of counts of 1, 2, and 3 or more; those that KenLM falls back on where there are none."""
    n1, n2, n3, n4 = (int((counts == times).sum()) for times in (1, 2, 3, 4))
    if not n1 * n2 * n3:
        return np.array([0.5, 1.0, 1.5])
    share = n1 / (n1 + 2 * n2)
    found = np.array([1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3])
    clipped: Float64s = np.clip(found, 0, [1, 2, 3])
    return clipped


def _best(ngrams: NGrams, gains: Sequence[Float64s], most: int) -> list[Bools]:
    """Of each order [U], whether an n-gram is kept: all single keys, the `most` others with the
    highest gains, and their contexts."""
    keep = [np.ones(len(gains[0]), dtype=np.bool_)]
    sizes = [len(each) for each in gains[1:]]
    best = np.zeros(sum(sizes), dtype=np.bool_)
    best[np.argsort(-np.concatenate(gains[1:]), kind="stable")[:most]] = True
    keep += np.split(best, np.cumsum(sizes)[:-1])
    for n in range(len(keep) - 1, 0, -1):
        keep[n - 1][ngrams.orders[n].codes[keep[n]] // ngrams.n_keys] = True
    return keep
