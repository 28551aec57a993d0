"""Blocks of options: what stands in the config under `model`, or what a function takes, each
checked as a whole."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin

from ..errors import Errors

# Names in a config of one option or several.
TOGETHER = {
    "min_freq": ("char_min_freq", "bigram_min_freq", "word_min_freq"),
    "piece_length": ("bptt_length",),
}


def option(
    default: Any,
    meaning: str,
    *,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
    fixed: bool = False,
) -> Any:
    """A field of a block of options: its default, meaning and bounds.

    least, most, below: bounds of a number; `below` itself is excluded.
    fixed: it can't be changed after training, since the network relies on it.
    """
    bounds = {"least": least, "most": most, "below": below}
    return field(default=default, metadata={"meaning": meaning, "fixed": fixed, **bounds})


def r_drop_option() -> Any:
    """The option of networks that can learn with R-Drop."""
    return option(
        0.0,
        "weight of R-Drop (α of Liang et al., 2021): above 0, compute each training batch twice "
        "with different dropouts, and add their divergence to the loss",
        least=0,
    )


@dataclass(frozen=True)
class Options:
    """A block of options that validates itself.

    block: the component, and the place of the block in its config; "" if it isn't in a config.
    retired: options of earlier versions, which a config may still name with these values.

    Raises ValueError (F305, or F341 for a block that isn't in a config) for a value of another type
    and for a number out of its bounds.
    """

    block: ClassVar[str] = ""
    retired: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            is_right = is_a(value, each.type) and _within(value, each)
            wanted = ", ".join(filter(None, (kind_of(each.type), bounds_of(each))))
            self.require(each.name, is_right, wanted)

    def require(self, name: str, right: bool, wanted: str) -> None:
        """Raises ValueError as the class where an option is not right."""
        if not right:
            value = getattr(self, name)
            error = Errors.F305 if self.block else Errors.F341
            words = {"block": self.block, "name": name, "value": value, "wanted": wanted}
            raise ValueError(error.format(**words))

    def fixed(self) -> dict[str, Any]:
        """The options that a trained network relies on."""
        return {
            each.name: getattr(self, each.name) for each in fields(self) if each.metadata["fixed"]
        }

    def check_fixed(self, saved: Mapping[str, Any]) -> None:
        """Raises ValueError (F307) where they differ from those of a trained network, which has the
        defaults of options that are newer."""
        saved = {each.name: each.default for each in fields(self)} | self.retired | dict(saved)
        for name, value in (self.fixed() | self.retired).items():
            # JSON and msgpack make lists of tuples.
            if _plain(saved[name]) != _plain(value):
                words = {"block": self.block, "name": name, "value": value, "saved": saved[name]}
                raise ValueError(Errors.F307.format(**words))


OptionsT = TypeVar("OptionsT", bound=Options)


def options_factory(options: type[OptionsT], *names: str) -> Callable[..., OptionsT]:
    """The function that a config calls for a block of options. `names` are its settings; `variant`,
    null by default, takes all others.

    Raises ValueError (F315) for a variant with an unknown name, otherwise as the options.
    """
    known = {each.name: each for each in fields(options)}
    targets = {
        name: [each for each in TOGETHER.get(name, (name,)) if each in known] for name in names
    }

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
        values = {each: value for name, value in settings.items() for each in targets[name]}
        return options(**values | variant)

    parameters = []
    for name in names:
        first = known[targets[name][0]]
        kind = Parameter.KEYWORD_ONLY
        parameters.append(Parameter(name, kind, default=first.default, annotation=first.type))
    variant = signature(build).parameters["variant"].replace(kind=Parameter.KEYWORD_ONLY)
    build.__signature__ = Signature([*parameters, variant])  # type: ignore[attr-defined]
    build.__doc__ = options.__doc__
    return build


def kind_of(kind: Any) -> str:
    """What values a field has, in words."""
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    if get_args(kind):
        return f"a list, each {kind_of(get_args(kind)[0])}"
    return {bool: "true or false", int: "a whole number"}.get(kind, "a number")


def bounds_of(each: "Field[Any]") -> str:
    """The bounds of a field in words; "" where it has none."""
    least, most, below = (each.metadata[name] for name in ("least", "most", "below"))
    if below is not None:
        return f"at least {least} and below {below}"
    if most is not None:
        return f"from {least} to {most}"
    return "" if least is None else f"{least} or more"


def is_a(value: Any, kind: Any) -> bool:
    """Whether a value is of a field's kind: one of Python's own, as JSON and configs have them."""
    if get_origin(kind) is Literal:
        return any(type(value) is type(each) and value == each for each in get_args(kind))
    if get_args(kind):
        is_list = isinstance(value, list | tuple)
        return is_list and all(is_a(each, get_args(kind)[0]) for each in value)
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is int:
        return isinstance(value, int)
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def _within(value: Any, each: "Field[Any]") -> bool:
    least, most, below = (each.metadata[name] for name in ("least", "most", "below"))
    return (
        (least is None or value >= least)
        and (most is None or value <= most)
        and (below is None or value < below)
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
