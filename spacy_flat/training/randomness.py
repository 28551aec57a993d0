"""The states of the random numbers that training draws."""

import random
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import torch

T = TypeVar("T")


def random_state() -> dict[str, Any]:
    """Those of python, numpy and torch, as plain data. (cupy tells none.)"""
    version, numbers, gauss = random.getstate()
    return {
        "python": [version, list(numbers), gauss],
        "numpy": _plain(np.random.get_state(legacy=False)),
        "torch": _text(torch.get_rng_state()),
        "cuda": [_text(state) for state in _cuda_states()],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Go back to what `random_state` gave."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(_tensor(state["torch"]))
    for device, text in enumerate(state["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(_tensor(text), device)


def with_own_randomness(items: Iterator[T]) -> Iterator[T]:
    """The same items. What they draw from python's and numpy's random numbers, which begin as they
    are now, depends on nothing that is drawn between them, nor the other way round: the order of
    a corpus can be gone through again without the training in between."""
    return _drawn(items, _get())


def _drawn(items: Iterator[T], own: tuple[Any, Any]) -> Iterator[T]:
    while True:
        others = _get()
        _set(own)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            own = _get()
            _set(others)
        yield item


def _cuda_states() -> list[torch.Tensor]:
    """Of all GPUs, where any is used: to ask would begin to."""
    is_used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return torch.cuda.get_rng_state_all() if is_used else []


def _get() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()


def _set(states: tuple[Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _text(state: torch.Tensor) -> str:
    return state.numpy().tobytes().hex()


def _tensor(text: str) -> torch.Tensor:
    return torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8)
