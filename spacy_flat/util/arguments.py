"""Checks of function arguments."""

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import SupportsIndex

from ..errors import Errors


def require(name: str, value: object, right: Callable[[], bool], wanted: str) -> None:
    """Raises ValueError (F341) for an argument that is invalid or can't be compared."""
    try:
        is_right = not isinstance(value, bool) and right()
    except (TypeError, ValueError):  # numpy's arrays raise the latter
        is_right = False
    if not is_right:
        raise ValueError(Errors.F341.format(name=name, value=value, wanted=wanted))


def require_count(name: str, value: object, min: int = 1) -> None:
    """Raises ValueError (F341) unless the value is a whole number of at least `min`."""

    def right() -> bool:  # for numpy's integers, too
        return isinstance(value, SupportsIndex) and operator.index(value) >= min

    require(name, value, right, f"a whole number, {min} or more")


def require_string(value: object) -> str:
    """Raises TypeError (F028) for anything but a string."""
    if not isinstance(value, str):
        raise TypeError(Errors.F028.format(value=repr(value), type=type(value).__name__))
    return value


def require_switch(name: str, value: object) -> None:
    """Raises ValueError (F341) for anything but true or false."""
    if not isinstance(value, bool):
        raise ValueError(Errors.F341.format(name=name, value=value, wanted="True or False"))


@contextmanager
def needed(what: str, module: str, extra: str) -> Iterator[None]:
    """For imports of an optional package. Raises ModuleNotFoundError (F030) without it, which says
    which extra to install."""
    try:
        yield
    except ImportError as error:
        words = {"module": module, "package": f"spacy-flat[{extra}]"}
        raise ModuleNotFoundError(Errors.F030.format(what=what, **words)) from error
