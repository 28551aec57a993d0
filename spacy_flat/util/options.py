"""Checks of values: of blocks of options, and of arguments of functions."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from numbers import Integral, Real
from types import NoneType
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args, get_origin

import numpy as np

from ..errors import Errors


class Check(NamedTuple):
    """Whether a value is allowed, and the allowed values in words."""

    wanted: str
    accepts: Callable[[Any], bool]


def check_of(
    kind: Any, min: float | None = None, max: float | None = None, below: float | None = None
) -> Check:
    """Of a type, as annotated, and bounds of its numbers: from `min` to `max`, or below another."""
    if below is not None:
        bounds = f", at least {min} and below {below}"
    elif max is not None:
        bounds = f", from {min} to {max}"
    else:
        bounds = "" if min is None else f", {min} or more"

    def accepts(value: Any) -> bool:
        if not _is_a(value, kind):
            return False
        return value is None or (
            (min is None or value >= min)
            and (max is None or value <= max)
            and (below is None or value < below)
        )

    return Check(_in_words(kind) + bounds, accepts)


def option(
    default: Any,
    meaning: str,
    *,
    min: float | None = None,
    max: float | None = None,
    below: float | None = None,
    fixed: bool = False,
) -> Any:
    """A field of a block of options: its default, meaning and bounds, as in `check_of`.

    fixed: it can't be changed after training, since the network relies on it.
    """
    bounds = {"min": min, "max": max, "below": below}
    return field(default=default, metadata={"meaning": meaning, "fixed": fixed, "bounds": bounds})


@dataclass(frozen=True)
class Options:
    """A block of options that validates itself.

    block: the component, and the place of the block in its config.
    retired: options of earlier versions, which a config may still name with these values.

    Raises ValueError (F305) for a value of another type and for a number out of its bounds.
    """

    block: ClassVar[str]
    retired: ClassVar[dict[str, float]] = {}

    def __post_init__(self) -> None:
        for each in fields(self):
            check = check_of(each.type, **each.metadata["bounds"])
            self.require(each.name, check.accepts(getattr(self, each.name)), check.wanted)

    def require(self, name: str, right: bool, wanted: str) -> None:
        """Raises ValueError as the class where an option is not right."""
        if not right:
            value = getattr(self, name)
            words = {"block": self.block, "name": name, "value": value, "wanted": wanted}
            raise ValueError(Errors.F305.format(**words))

    def fixed(self) -> dict[str, Any]:
        """The options that a trained network relies on."""
        return {
            each.name: getattr(self, each.name) for each in fields(self) if each.metadata["fixed"]
        }

    def check_fixed(self, saved: Mapping[str, Any]) -> None:
        """Raises ValueError (F307) where they differ from those of a trained network, which has the
        defaults of options that are newer."""
        saved = {each.name: each.default for each in fields(self)} | dict(saved)
        for name, value in self.fixed().items():
            if plain(saved[name]) != plain(value):
                words = {"block": self.block, "name": name, "value": value, "saved": saved[name]}
                raise ValueError(Errors.F307.format(**words))


OptionsT = TypeVar("OptionsT", bound=Options)


def options_factory(options: type[OptionsT], *names: str) -> Callable[..., OptionsT]:
    """The function that a config calls for a block of options. `names` are its settings; `variant`,
    null by default, takes all others.

    Raises ValueError (F315) for a variant with an unknown name, otherwise as the options.
    """
    known = {each.name: each for each in fields(options)}

    def build(variant: dict[str, Any] | None = None, **settings: Any) -> OptionsT:
        variant = dict(variant or {})
        for name, value in options.retired.items():
            if variant.get(name) == value:
                del variant[name]
        for name in variant:
            if name not in known or name in settings:
                others = ", ".join(each for each in known if each not in settings)
                words = {"block": options.block, "name": name, "others": others}
                raise ValueError(Errors.F315.format(**words))
        return options(**settings | variant)

    kind = Parameter.KEYWORD_ONLY
    parameters = [
        Parameter(name, kind, default=known[name].default, annotation=known[name].type)
        for name in names
    ]
    variant = signature(build).parameters["variant"].replace(kind=kind)
    build.__signature__ = Signature([*parameters, variant])  # type: ignore[attr-defined]
    build.__doc__ = options.__doc__
    return build


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


def require_installed(what: str, module: str, package: str) -> None:
    """Raises ModuleNotFoundError (F030) without an optional module, which `package` installs."""
    if find_spec(module) is None:
        words = {"what": what, "module": module, "package": package}
        raise ModuleNotFoundError(Errors.F030.format(**words))


def _in_words(kind: Any) -> str:
    """The values of a type."""
    kinds = get_args(kind)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, kinds))
    if NoneType in kinds:
        return f"null or {_in_words(kinds[0])}"
    if kinds:
        return f"a list, each {_in_words(kinds[0])}"
    names = {bool: "true or false", str: "a string that is not empty"}
    return names.get(kind, "a whole number" if kind in (int, Integral) else "a number")


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value has a type: one of Python's own, as JSON and configs have them. Numbers are
    finite; those of NumPy are Integral or Real, too."""
    kinds = get_args(kind)
    if get_origin(kind) is Literal:
        return any(type(value) is type(each) and value == each for each in kinds)
    if NoneType in kinds:
        return value is None or _is_a(value, kinds[0])
    if kinds:
        return isinstance(value, list | tuple) and all(_is_a(each, kinds[0]) for each in value)
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is str:
        return isinstance(value, str) and value != ""
    numbers = (int, float) if kind is float else kind
    plain = value.item() if isinstance(value, np.generic) else value
    return isinstance(value, numbers) and abs(plain) <= sys.float_info.max


def plain(value: Any) -> Any:
    """The value as in JSON and msgpack."""
    return list(value) if isinstance(value, tuple) else value
