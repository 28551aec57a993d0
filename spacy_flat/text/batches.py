"""Batches of texts or segments of similar size, and padded arrays with a row for each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from ..util.arrays import Bools, Ints

ItemT = TypeVar("ItemT")

BATCH_PAIRS = 50_000  # pairs of nodes that cost as much as the overhead of a batch


def batch_by_length(
    items: Iterable[ItemT],
    size: int,
    length_of: Callable[[ItemT], int],
    max_items: int | None = None,
) -> Iterator[list[ItemT]]:
    """Batches, in order, whose lengths sum to `size` at most; a longer item has one of its own.

    spaCy's `minibatch_by_words` moves long items before shorter ones.
    """
    batch: list[ItemT] = []
    total = 0
    for item in items:
        length = length_of(item)
        if batch and (total + length > size or len(batch) == max_items):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += length
    if batch:
        yield batch


def batch_by_cost(
    n_units: Ints, max_nodes: int, n_words: Ints | None = None, order: Ints | None = None
) -> Iterator[Ints]:
    """The numbers of B texts in batches of at most `max_nodes` nodes with padding, or of one text,
    divided where computing the padding would cost more than another batch.

    n_units: [B]. n_words: [B] nodes in addition to the units.
    order: [B] by default, the shortest first.
    """
    n_words = np.zeros_like(n_units) if n_words is None else n_words
    order = np.lexsort((n_words, n_units)) if order is None else order
    start = 0
    units = words = pairs = 0
    for place, row in enumerate(order):
        own_units, own_words = int(n_units[row]), int(n_words[row])
        units, words = max(units, own_units), max(words, own_words)
        pairs += own_units * (own_units + own_words)
        padded_nodes = (place + 1 - start) * (units + words)
        pads = padded_nodes * units - pairs
        if place > start and (padded_nodes > max_nodes or pads > pairs // 2 + BATCH_PAIRS):
            yield order[start:place]
            start, units, words = place, own_units, own_words
            pairs = own_units * (own_units + own_words)
    if len(order):
        yield order[start:]


def starts_of(counts: Ints) -> Ints:
    """[B] where rows of these lengths start in a flat array."""
    starts: Ints = np.cumsum(counts) - counts
    return starts


def padding(counts: Ints, starts: Ints | None = None) -> tuple[Ints, Bools]:
    """[B] lengths and starts of rows in a flat array, by default one after the other → [B, longest]
    places in it, and false for padding."""
    starts = starts_of(counts) if starts is None else starts
    columns = np.arange(counts.max(initial=0))
    present = columns < counts[:, None]
    return np.where(present, starts[:, None] + columns, 0), present


@dataclass(frozen=True)
class Ragged:
    """Columns of numbers of B texts, one text after the other.

    counts: [B] numbers of each text.
    """

    counts: Ints
    columns: dict[str, Ints]

    @cached_property
    def starts(self) -> Ints:
        return starts_of(self.counts)

    def pad(self, rows: Ints) -> tuple[dict[str, Ints], Bools]:
        """The columns of some texts as arrays [rows, longest], and false for padding."""
        places, present = padding(self.counts[rows], self.starts[rows])
        padded = {name: np.where(present, flat[places], 0) for name, flat in self.columns.items()}
        return padded, present
