"""Random numbers of a corpus that don't depend on the training in between."""

import random
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def with_own_randomness(items: Iterator[T]) -> Iterator[T]:
    """Iterate with separate states of Python's and NumPy's random numbers, copied from the current
    ones, so that a resumed run can replay a corpus without the training in between."""
    return _drawn(items, (random.getstate(), np.random.get_state()))


def _drawn(items: Iterator[T], own: tuple[Any, Any]) -> Iterator[T]:
    while True:
        own = _swap(own)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            own = _swap(own)
        yield item


def _swap(states: tuple[Any, Any]) -> tuple[Any, Any]:
    """Set states; returns those before."""
    before = random.getstate(), np.random.get_state()
    random.setstate(states[0])
    np.random.set_state(states[1])
    return before
