"""N-grams of keys, with interpolated Kneser–Ney probabilities.

"Modified" as by Chen & Goodman (1999): three discounts an order, estimated from the counts of
counts. N-grams at the start of a text, which nothing precedes, keep their plain counts.

Shapes: C keys of all texts with marks, U distinct n-grams of one order, P places, K keys, O the
highest order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..errors import Errors
from ..util.arrays import Bools, Float64s, Ints

MAX_ORDER = 5
LEVELS = 18.0  # of discounted probabilities per nat, down to 1e-6
TINY = 1e-9


@dataclass(frozen=True)
class Order:
    """The n-grams of one length.

    n_keys: K
    codes: [U] sorted: the number of the n-gram without its last key, its context, times K, plus
        that key. Its place here is its own number.
    discounted: [U] discounted probabilities
    backoff: the back-off weight of each context, by its number: the probability left to shorter
        n-grams
    """

    n_keys: int
    codes: Ints
    discounted: Float64s
    backoff: Float64s

    @cached_property
    def begins(self) -> Ints:
        """Where the n-grams of each context begin in `codes`, and the end of the last."""
        return np.searchsorted(self.codes, np.arange(len(self.backoff) + 1) * self.n_keys)

    def find(self, contexts: Ints, keys: Ints) -> Ints:
        """The numbers of n-grams; −1 for unknown ones, and after a context of −1."""
        codes = contexts * self.n_keys + keys
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where((contexts >= 0) & (self.codes[places] == codes), places, -1)

    def backoff_after(self, contexts: Ints) -> Float64s:
        """The back-off weights of contexts, 1 of unknown ones."""
        return np.where(contexts >= 0, self.backoff[contexts], 1.0)


class NGrams:
    """P(key | the O − 1 keys before it), over K keys without the start mark."""

    def __init__(self, orders: Sequence[Order], start: int) -> None:
        self.orders = orders
        self.start = start
        self.n_keys = orders[0].n_keys
        self.context_length = len(orders) - 1

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
        keys = np.concatenate([np.full(self.context_length, self.start), keys])
        return sliding_window_view(keys, self.context_length)

    def log_probs(self, contexts: Ints, keys: Ints) -> Float64s:
        """[P] ln P of keys [P] after contexts [P, O − 1]."""
        found = np.full(len(keys), 1 / (self.n_keys - 1))
        for order, numbers in self._context_ids(contexts):
            ngrams = order.find(numbers, keys)
            found *= order.backoff_after(numbers)
            found += np.where(ngrams >= 0, order.discounted[ngrams], 0.0)
        return _log(found)

    def all_log_probs(self, contexts: Ints) -> Float64s:
        """[P, K] ln P of each key after contexts [P, O − 1]; −∞ for the start mark."""
        found = np.full((len(contexts), self.n_keys), 1 / (self.n_keys - 1))
        found[:, self.start] = 0
        for order, numbers in self._context_ids(contexts):
            found *= order.backoff_after(numbers)[:, None]
            begins = np.where(numbers >= 0, order.begins[numbers], 0)
            counts = np.where(numbers >= 0, order.begins[numbers + 1] - begins, 0)
            rows = np.repeat(np.arange(len(contexts)), counts)
            ngrams = np.arange(len(rows)) + np.repeat(begins - counts.cumsum() + counts, counts)
            found[rows, order.codes[ngrams] % self.n_keys] += order.discounted[ngrams]
        return _log(found)

    def pruned(self, keep: Sequence[Bools]) -> "NGrams":
        """Only some of the n-grams. The probability of the others goes to the back-off weights of
        their contexts.

        keep: of each order [U], True also for the contexts of what is kept.
        """
        orders = []
        numbers = np.zeros(1, dtype=np.int64)  # of the contexts in their new order
        renumbered = numbers
        for order, kept in zip(self.orders, keep, strict=True):
            if not kept.any():
                break
            contexts, keys = np.divmod(order.codes, self.n_keys)
            lost = np.bincount(contexts[~kept], order.discounted[~kept], len(order.backoff))
            codes = renumbered[contexts[kept]] * self.n_keys + keys[kept]
            backoff = (order.backoff + lost)[numbers]
            orders.append(Order(self.n_keys, codes, order.discounted[kept], backoff))
            numbers, renumbered = np.flatnonzero(kept), kept.cumsum() - 1
        return NGrams(orders, self.start)

    def packed(self) -> dict[str, NDArray[Any]]:
        """The n-grams of all orders as small numbers, with probabilities rounded down.

        last_keys: of each n-gram.
        n_longer: for the empty context and each n-gram but those of the highest order, the number
            of n-grams that extend it by one key.
        log_levels: −`LEVELS` · ln of the discounted probability of each n-gram.
        """
        logs = np.log(np.concatenate([order.discounted for order in self.orders]) + TINY)
        return {
            "last_keys": np.concatenate([each.codes % self.n_keys for each in self.orders]),
            "n_longer": np.concatenate([np.diff(each.begins) for each in self.orders]),
            "log_levels": np.ceil((-LEVELS * logs).clip(0, 255)).astype(np.uint8),
        }

    @classmethod
    def unpacked(
        cls, sizes: Sequence[int], n_keys: int, start: int, packed: Mapping[str, NDArray[Any]]
    ) -> "NGrams":
        """From `sizes` and `packed`. The back-off weight of a context is 1 minus the sum of its
        n-grams' discounted probabilities.

        Raises ValueError (F200) for arrays that don't fit together.
        """
        contexts_of = np.split(packed["n_longer"], np.cumsum([1, *sizes[:-1]])[:-1])
        keys_of, levels_of = (
            np.split(packed[name], np.cumsum(sizes[:-1])) for name in ("last_keys", "log_levels")
        )
        orders = []
        for n_longer, keys, levels in zip(contexts_of, keys_of, levels_of, strict=True):
            if (n_longer < 0).any() or n_longer.sum() != len(keys):
                raise ValueError(Errors.F200.format(reason="n-grams without their contexts"))
            contexts = np.repeat(np.arange(len(n_longer)), n_longer)
            codes = contexts * n_keys + keys
            discounted = np.where(levels < 255, np.exp(levels / -LEVELS), 0)
            backoff = 1 - np.bincount(contexts, discounted, len(n_longer))
            if (np.diff(codes) <= 0).any() or backoff.min() < -TINY:
                raise ValueError(Errors.F200.format(reason="n-grams out of order"))
            orders.append(Order(n_keys, codes, discounted, backoff.clip(0)))
        return cls(orders, start)

    def _context_ids(self, contexts: Ints) -> Iterator[tuple[Order, Ints]]:
        """Yield each order, and the numbers [P] of the n-grams that are its contexts."""
        numbers = np.zeros((len(contexts), self.context_length + 1), dtype=np.int64)
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
    """Count the n-grams of training texts.

    marks: the start and the end mark.
    most: number of n-grams of two or more keys to keep, besides their contexts: those with the
        largest weighted difference (Seymore & Rosenfeld, 1996), occurrences · (ln P − ln P by
        backing off).
    """
    counts = Counts(texts, n_keys, marks)
    ends = counts.ends
    orders = []
    differences = []
    below = np.full(len(counts.keys), 1 / (n_keys - 1))  # P of each key by shorter n-grams
    for n, codes in enumerate(counts.codes, 1):
        numbers = counts.numbers[n]
        order = _discounted(
            codes, counts.continuation_counts(n), n_keys, int(counts.numbers[n - 1].max()) + 1
        )
        shorter = order.backoff[codes // n_keys][numbers] * below
        below = order.discounted[numbers] + shorter
        difference = np.zeros(len(codes))
        difference[numbers[ends]] = np.log(below[ends]) - _log(shorter[ends])
        orders.append(order)
        differences.append(difference * counts.occurrences(n))
    ngrams = NGrams(orders, marks[0])
    return ngrams if most is None else ngrams.pruned(_best(ngrams, differences, most))


class Counts:
    """The n-grams of texts.

    keys: [C] of the texts one after the other, each between O − 1 start marks and an end mark.
    ends: the places in `keys` of all but start marks.
    codes: of each order [U], as in `Order`.
    numbers: of each order and of none [C], of the n-gram that ends at each key.
    """

    def __init__(self, texts: Sequence[Ints], n_keys: int, marks: tuple[int, int]) -> None:
        self.start, end = marks
        starts = [self.start] * (MAX_ORDER - 1)
        self.keys = np.concatenate([part for text in texts for part in (starts, text, [end])])
        self.ends = np.flatnonzero(self.keys != self.start)
        self.codes: list[Ints] = []
        self.numbers: list[Ints] = [np.zeros(len(self.keys), dtype=np.int64)]
        for _ in range(MAX_ORDER):
            contexts = np.concatenate([[0], self.numbers[-1][:-1]])
            codes, numbers = np.unique(contexts * n_keys + self.keys, return_inverse=True)
            self.codes.append(codes)
            self.numbers.append(numbers)

    def occurrences(self, n: int) -> Ints:
        """[U] of each n-gram that doesn't end with a start mark."""
        return np.bincount(self.numbers[n][self.ends], minlength=len(self.codes[n - 1]))

    def continuation_counts(self, n: int) -> Ints:
        """[U] the number of different keys before each n-gram; plain counts for the highest order
        and at the start of a text."""
        occurrences = self.occurrences(n)
        if n == MAX_ORDER:
            return occurrences
        own, longer = self.numbers[n], self.numbers[n + 1]
        last_end = np.full(len(self.codes[n]), -1)  # of each longer n-gram
        last_end[longer[self.ends]] = self.ends
        after = np.bincount(own[last_end[last_end >= 0]], minlength=len(occurrences))
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
    return found.clip(0)


def _best(ngrams: NGrams, differences: Sequence[Float64s], most: int) -> list[Bools]:
    """Of each order [U], whether to keep an n-gram: all single keys, the `most` others with the
    largest weighted differences, if above 0, and their contexts."""
    values = np.concatenate(differences[1:])
    best = np.zeros(len(values), dtype=np.bool_)
    best[np.argsort(-values, kind="stable")[:most]] = True
    best &= values > 0
    sizes = [len(each) for each in differences]
    keep = [np.ones(sizes[0], dtype=np.bool_), *np.split(best, np.cumsum(sizes[1:-1]))]
    for n in range(len(keep) - 1, 0, -1):
        keep[n - 1][ngrams.orders[n].codes[keep[n]] // ngrams.n_keys] = True
    return keep
