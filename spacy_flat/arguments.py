"""Checks of numbers that are handed to functions."""

from collections.abc import Callable

from .errors import Errors


def require(name: str, value: object, right: Callable[[], bool], wanted: str) -> None:
    """Raises ValueError (F341) where an argument is not right, or can't be compared at all."""
    try:
        is_right = not isinstance(value, bool) and right()
    except TypeError:
        is_right = False
    if not is_right:
        raise ValueError(Errors.F341.format(name=name, value=value, wanted=wanted))


def require_count(name: str, value: object, least: int = 1) -> None:
    """Raises ValueError (F341) for what is no whole number of at least `least`."""
    right = isinstance(value, int) and not isinstance(value, bool) and value >= least
    require(name, value, lambda: right, f"a whole number, {least} or more")
