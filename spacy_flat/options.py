"""Checks of option blocks: what stands in the config under `model`."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from .errors import Errors


class Options(Protocol):
    """A block of options."""

    block: ClassVar[str]


def check_fixed(options: Options, saved: Mapping[str, object]) -> None:
    """Raises ValueError (F307) where options differ from saved ones that a network relies on."""
    for name, value in saved.items():
        given = getattr(options, name)
        if given != value:
            words = {"block": options.block, "name": name, "value": given, "saved": value}
            raise ValueError(Errors.F307.format(**words))


def check_sizes(block: str, options: object, names: Sequence[str]) -> None:
    """Raises ValueError (F305) for a value below 1."""
    for name in names:
        value = getattr(options, name)
        check(block, name, value, value >= 1, "1 or more")


def check(block: str, name: str, value: object, right: bool, wanted: str) -> None:
    """Raises ValueError (F305) where a value is not right."""
    if not right:
        raise ValueError(Errors.F305.format(block=block, name=name, value=value, wanted=wanted))
