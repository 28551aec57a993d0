"""Checks of function arguments."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real

from ..errors import Errors
from .options import Check, check_of


def require(name: str, value: object, check: Check) -> None:
    """Raises ValueError (F341) for an argument that is not allowed."""
    if not check.accepts(value):
        raise ValueError(Errors.F341.format(name=name, value=value, wanted=check.wanted))


def require_number(
    name: str, value: object, min: float | None = None, max: float | None = None
) -> None:
    """Raises ValueError (F341) unless the value is a finite number within bounds."""
    require(name, value, check_of(Real, min, max))


def require_count(name: str, value: object, min: int = 1) -> None:
    """Raises ValueError (F341) unless the value is a whole number of at least `min`."""
    require(name, value, check_of(Integral, min))


def require_string(value: object) -> str:
    """Raises TypeError (F028) for anything but a string."""
    if not isinstance(value, str):
        raise TypeError(Errors.F028.format(value=repr(value), type=type(value).__name__))
    return value


@contextmanager
def needed(what: str, module: str, extra: str) -> Iterator[None]:
    """For imports of an optional package. Raises ModuleNotFoundError (F030) without it, which says
    which extra to install."""
    try:
        yield
    except ImportError as error:
        words = {"module": module, "package": f"spacy-flat[{extra}]"}
        raise ModuleNotFoundError(Errors.F030.format(what=what, **words)) from error
