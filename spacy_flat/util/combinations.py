"""The best combinations of choices."""

from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import Any, TypeVar

T = TypeVar("T")

Chain = tuple[float, Any]  # a score, and a linked list from the last choice to the first


def best_combinations(
    parts: Sequence[Sequence[tuple[float, T]]], n: int
) -> list[tuple[float, list[T]]]:
    """The n combinations of one choice from each part with the highest sums of scores, best first,
    with these sums."""
    chains: list[Chain] = [(0.0, None)]
    for choices in parts:
        longer = (
            (total + score, (choice, before))
            for total, before in chains
            for score, choice in choices
        )
        chains = nlargest(n, longer, key=lambda chain: chain[0])
    return [(total, list(_links(last))[::-1]) for total, last in chains]


def _links(last: Any) -> Iterator[Any]:
    while last is not None:
        choice, last = last
        yield choice
