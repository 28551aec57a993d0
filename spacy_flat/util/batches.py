"""Items in batches."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

ItemT = TypeVar("ItemT")


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
