"""N-grams of keys, with interpolated Kneser–Ney probabilities.

"Modified" as by Chen & Goodman (1999): three discounts an order, estimated from the counts of
counts. N-grams at the start of a text, which nothing precedes, keep their plain counts.

Shapes: C keys, U distinct n-grams of one order, K keys in all.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..util.arrays import Bools, Float64s, Ints

MAX_ORDER = 5
N_BEFORE = MAX_ORDER - 1  # start marks before a text
LEVELS = 18.0  # of discounted probabilities per nat, down to 1e-6
TINY = 1e-9


class Order(NamedTuple):
    """The n-grams of one length, and their contexts: the n-grams without their last key.

    codes: [U] sorted: the id of the context times K, plus the last key. Their places are the ids.
    discounted: [U] discounted probabilities
    backoff: of each context, by its id: the probability left to shorter n-grams
    """

    codes: Ints
    discounted: Float64s
    backoff: Float64s

    @classmethod
    def of(cls, codes: Ints, discounted: Float64s, n_keys: int, n_contexts: int) -> "Order":
        taken = np.bincount(codes // n_keys, discounted, n_contexts)
        return cls(codes, discounted, (1 - taken).clip(0))


class NGrams:
    """P(key | the keys before it), over K keys without the start mark."""

    def __init__(self, orders: Sequence[Order], n_keys: int) -> None:
        self.orders = orders
        self.n_keys = n_keys

    def log_probs(self, keys: Ints) -> Float64s:
        """[..., N_BEFORE + C] → [..., C] ln P of each key after those before it."""
        n = keys.shape[-1] - N_BEFORE
        probs = np.full((*keys.shape[:-1], n), 1 / (self.n_keys - 1))
        contexts = np.zeros_like(keys)
        for codes, discounted, backoff in self.orders:
            wanted = contexts * self.n_keys + keys
            places = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
            ids = np.where(codes[places] == wanted, places, -1)  # -1: unknown
            probs *= _values(backoff, contexts[..., -n:], 1.0)
            probs += _values(discounted, ids[..., -n:], 0.0)
            contexts, keys = ids[..., :-1], keys[..., 1:]
        return np.log(np.maximum(probs, TINY))

    def packed(self) -> dict[str, NDArray[Any]]:
        """The n-grams of all orders as small numbers, with probabilities rounded down.

        last_keys: of each n-gram.
        n_longer: for the empty context and each n-gram but those of the highest order, the number
            of n-grams that extend it by one key.
        log_levels: −`LEVELS` · ln of the discounted probability of each n-gram.
        """
        logs = np.log(np.concatenate([order.discounted for order in self.orders]) + TINY)
        contexts = [(order.codes // self.n_keys, len(order.backoff)) for order in self.orders]
        return {
            "last_keys": np.concatenate([order.codes % self.n_keys for order in self.orders]),
            "n_longer": np.concatenate([np.bincount(own, minlength=n) for own, n in contexts]),
            "log_levels": np.ceil((-LEVELS * logs).clip(0, 255)).astype(np.uint8),
        }

    @classmethod
    def unpacked(
        cls, sizes: Sequence[int], n_keys: int, packed: Mapping[str, NDArray[Any]]
    ) -> "NGrams":
        """From `packed`. sizes: the n-grams of each order."""
        n_longer = np.split(packed["n_longer"], np.cumsum([1, *sizes[:-1]])[:-1])
        keys, levels = (
            np.split(packed[name], np.cumsum(sizes[:-1])) for name in ("last_keys", "log_levels")
        )
        orders = []
        for counts, own, level in zip(n_longer, keys, levels, strict=True):
            codes = np.repeat(np.arange(len(counts)), counts) * n_keys + own
            discounted = np.where(level < 255, np.exp(level / -LEVELS), 0)
            orders.append(Order.of(codes, discounted, n_keys, len(counts)))
        return cls(orders, n_keys)


def _values(array: Float64s, ids: Ints, unknown: float) -> Float64s:
    return np.where(ids >= 0, array[ids], unknown)


def count_ngrams(texts: Sequence[Ints], n_keys: int, marks: tuple[int, int], n_kept: int) -> NGrams:
    """Count the n-grams of training texts.

    marks: the start and the end mark.
    n_kept: number of n-grams of two or more keys to keep, besides their contexts: those with the
        largest weighted difference (Seymore & Rosenfeld, 1996), occurrences · (ln P − ln P by
        backing off).
    """
    start, end = marks
    starts = [start] * N_BEFORE
    keys = np.concatenate([part for text in texts for part in (starts, text, [end])])
    ends = np.flatnonzero(keys != start)
    ids, codes = [np.zeros_like(keys)], []  # of the n-gram that ends at each key
    for _ in range(MAX_ORDER):
        contexts = np.concatenate([[0], ids[-1][:-1]])
        found = np.unique(contexts * n_keys + keys, return_inverse=True)
        codes.append(found[0])
        ids.append(found[1])
    below = np.full(len(keys), 1 / (n_keys - 1))  # P of each key by shorter n-grams
    orders, differences = [], []
    for n, (own_codes, own) in enumerate(zip(codes, ids[1:], strict=True), 1):
        counts = occurrences = np.bincount(own[ends], minlength=len(own_codes))
        if n < MAX_ORDER:
            # The number of different keys before each n-gram
            _, first = np.unique(ids[n + 1][ends], return_index=True)
            counts = np.bincount(own[ends[first]], minlength=len(own_codes))
            at_start = own[ends[keys[ends - n + 1] == start]]
            counts[at_start] = occurrences[at_start]
        contexts = own_codes // n_keys
        totals = np.bincount(contexts, counts)[contexts]
        discounted = (counts - _discounts(counts)[np.minimum(counts, 3)]) / np.maximum(totals, 1)
        order = Order.of(own_codes, discounted, n_keys, int(ids[n - 1].max()) + 1)
        shorter = order.backoff[contexts][own] * below
        below = discounted[own] + shorter
        difference = np.zeros(len(own_codes))
        difference[own[ends]] = np.log(below[ends]) - np.log(np.maximum(shorter[ends], TINY))
        orders.append(order)
        differences.append(difference * occurrences)
    return NGrams(list(_kept(orders, differences, n_keys, n_kept)), n_keys)


def _discounts(counts: Ints) -> Float64s:
    """Of counts of 0, 1, 2, and 3 or more; those that KenLM falls back on where there are none."""
    n1, n2, n3, n4 = (int((counts == times).sum()) for times in (1, 2, 3, 4))
    if not n1 * n2 * n3:
        return np.array([0, 0.5, 1.0, 1.5])
    share = n1 / (n1 + 2 * n2)
    found = [0, 1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3]
    return np.clip(found, 0, None)


def _kept(
    orders: Sequence[Order], differences: Sequence[Float64s], n_keys: int, n_kept: int
) -> Iterator[Order]:
    """Keep the single keys, the n-grams with the largest differences, and their contexts."""
    values = np.concatenate(differences[1:])
    best = np.zeros(len(values), dtype=np.bool_)
    best[np.argsort(-values, kind="stable")[:n_kept]] = True
    sizes = [len(each) for each in differences]
    keep: list[Bools] = [np.full(sizes[0], True), *np.split(best, np.cumsum(sizes[1:-1]))]
    for n in range(len(keep) - 1, 0, -1):
        keep[n - 1][orders[n].codes[keep[n]] // n_keys] = True
    n_contexts, new_ids = 1, np.zeros(1, dtype=np.int64)
    for (codes, discounted, _), kept in zip(orders, keep, strict=True):
        if not kept.any():
            break
        contexts, last = np.divmod(codes[kept], n_keys)
        yield Order.of(new_ids[contexts] * n_keys + last, discounted[kept], n_keys, n_contexts)
        n_contexts, new_ids = int(kept.sum()), kept.cumsum() - 1
