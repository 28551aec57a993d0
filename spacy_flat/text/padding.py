"""From concatenated texts to padded arrays with a row for each.

Shapes: B texts or segments.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..util.arrays import Bools, Ints

BATCH_PAIRS = 50_000  # pairs of nodes that cost as much as the overhead of a batch


@dataclass(frozen=True)
class Ragged:
    """Columns of numbers of B texts, one text after the other.

    counts: [B] numbers of each text.
    """

    counts: Ints
    columns: dict[str, Ints]

    @cached_property
    def starts(self) -> Ints:
        """[B] where each text starts in the columns."""
        return np.cumsum(self.counts) - self.counts

    def pad(self, rows: Ints) -> tuple[dict[str, Ints], Bools]:
        """The columns of some texts as arrays [rows, longest], and false for padding."""
        places, present = padding(self.counts[rows], self.starts[rows])
        padded = {name: np.where(present, flat[places], 0) for name, flat in self.columns.items()}
        return padded, present


def padding(counts: Ints, starts: Ints) -> tuple[Ints, Bools]:
    """[B] lengths and starts of rows in a flat array → [B, longest] places in it, and false for
    padding."""
    columns = np.arange(counts.max(initial=0))
    present = columns < counts[:, None]
    return np.where(present, starts[:, None] + columns, 0), present


def group_by_cost(order: Ints, n_units: Ints, n_words: Ints, max_nodes: int) -> Iterator[Ints]:
    """Divide segments, in this order, into batches of at most `max_nodes` nodes with padding, and
    where computing the padding would cost more than another batch.

    n_words: [B] nodes in addition to the units.
    """
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
    yield order[start:]
