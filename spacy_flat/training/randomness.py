"""The states of random number generators."""

import random
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import torch

T = TypeVar("T")


def random_state() -> dict[str, Any]:
    """The states of Python, NumPy and torch, as plain data. (CuPy gives none.)"""
    version, numbers, gauss = random.getstate()
    numpy: dict[str, Any] = np.random.get_state(legacy=False)
    key = numpy["state"]["key"].tolist()
    # Reading the states of GPUs would initialise them.
    is_used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return {
        "python": [version, list(numbers), gauss],
        "numpy": {**numpy, "state": {**numpy["state"], "key": key}},
        "torch": _text(torch.get_rng_state()),
        "cuda": [_text(state) for state in (torch.cuda.get_rng_state_all() if is_used else [])],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restore what `random_state` returned."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(_tensor(state["torch"]))
    for device, text in enumerate(state["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(_tensor(text), device)


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


def _text(state: torch.Tensor) -> str:
    return state.numpy().tobytes().hex()


def _tensor(text: str) -> torch.Tensor:
    return torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8)
