"""Fill in the parts of these pages that come from the code: python docs/make.py

A part stands between two comments, of which the first says what it is:

    <!-- options: spacy-flat.FLATOptions.v2 … -->      blocks of options of the config
    <!-- settings: flat_ner tener_ner -->              what factories take from the config
    <!-- arguments: spacy-flat.SGD.v1 … -->            arguments of functions
    <!-- reference: spacy_flat.lexicon:Lexicon … -->   functions and classes, in a sentence each
    <!-- end -->

Things are named as they are registered, or as module:name.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from importlib import import_module
from importlib.metadata import distribution
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from spacy.language import Language
from spacy.pipeline import TrainablePipe

from spacy_flat.pipe import NetworkPipe

PAGES = sorted(Path(__file__).parent.glob("*.md"))
PART = re.compile(r"(<!-- (\w+)(?:: ([^>]+))? -->\n).*?(<!-- end -->)", re.DOTALL)
ARGUMENT = re.compile(r"(\w+(?:, \w+)*): ")  # at the start of a line of a docstring

GIVEN_BY_SPACY = ("nlp", "get_examples", "self", "cls")  # not set in a config

ENTRY_POINTS = distribution("spacy-flat").entry_points


def filled(page: str) -> str:
    """A page with its parts regenerated."""
    return PART.sub(lambda part: part[1] + "\n" + make(part[2], part[3]) + "\n" + part[4], page)


def make(kind: str, names: str | None) -> str:
    """A part of a kind."""
    return "\n".join(KINDS[kind]((names or "").split())).rstrip() + "\n"


def find(name: str) -> Any:
    """A thing by its registered name, or by module:name."""
    entry = next((entry for entry in ENTRY_POINTS if entry.name == name), None)
    if entry is not None:
        return entry.load()
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


# Lists of what functions take

Row = tuple[str, list[str | None], str, str]  # name, each one's default or None, values, meaning


def listed(names: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """What some functions take, with the default of the first one that takes it. Neighbours that
    differ in their names alone stand together."""
    for (defaults, values, meaning), alike in groupby(rows, lambda row: row[1:]):
        taken = {
            short(name): each
            for name, each in zip(names, defaults, strict=True)
            if each is not None
        }
        default = next(iter(taken.values()))
        given = f" = {default}" if default else ""
        each = ", ".join(f"`{name}{given}`" for name, *_ in alike)
        notes = [f"`{name}`: {other}" for name, other in taken.items() if other != default]
        if len(taken) < len(names):
            notes = ["only " + " and ".join(f"`{name}`" for name in taken)]
        if values:
            notes.append(values)
        in_brackets = f" ({'; '.join(notes)})" if notes else ""
        yield f"- {each}{in_brackets}: {meaning}"


def make_options(names: Sequence[str]) -> Iterator[str]:
    """Blocks of options: their settings, and below them what `variant` takes."""
    builds = [find(name) for name in names]
    blocks = [{each.name: each for each in fields(build())} for build in builds]
    types = {name: kind for build in builds for name, kind in get_type_hints(type(build())).items()}
    settings = [name for build in builds for name in inspect.signature(build).parameters]
    options = dict.fromkeys([*settings, *(name for block in blocks for name in block)])
    rows = []
    for name in [name for name in options if name != "variant"]:
        found = [block.get(name) for block in blocks]
        metadata = next(each.metadata for each in found if each)
        values = [values_of(types[name], **metadata["bounds"]), *["fixed"] * metadata["fixed"]]
        rows.append(
            (
                name if name in settings else f"variant.{name}",
                [written(each.default) if each else None for each in found],
                ", ".join(filter(None, values)),
                metadata["meaning"],
            )
        )
    return listed(names, rows)


def values_of(
    kind: Any, min: float | None = None, max: float | None = None, below: float | None = None
) -> str:
    """The values of an option; its default shows the type."""
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    if get_args(kind):
        return f"each {values_of(get_args(kind)[0])}"
    if below is not None:
        return f"in [{min}, {below})"
    if max is not None:
        return f"in [{min}, {max}]"
    return "" if min is None else f"≥ {min}"


def make_settings(names: Sequence[str]) -> Iterator[str]:
    """What components take from the config, except what all of them take: defaults from the
    factories, meanings from the docstrings of the components' classes. Those of earlier versions
    have no meaning."""
    meanings = [Documented(find(name)).returned.meanings for name in names]
    defaults = [Language.get_factory_meta(name).default_config or {} for name in names]
    rows = [
        (
            setting,
            [written(each[setting]) if setting in each else None for each in defaults],
            "",
            _joined(names, [each.get(setting, "") for each in meanings]),
        )
        for setting in meanings[0]
        if setting in defaults[0] and setting not in Documented(NetworkPipe).meanings
    ]
    return listed(names, rows)


def make_arguments(names: Sequence[str]) -> Iterator[str]:
    """The arguments of functions or classes."""
    found = [Documented(find(name)) for name in names]
    rows = [
        (
            argument,
            [each.default(argument) for each in found],
            "",
            _joined(names, [each.meanings.get(argument, "") for each in found]),
        )
        for argument in dict.fromkeys(name for each in found for name in each.parameters)
    ]
    return listed(names, rows)


def short(name: str) -> str:
    return name.rpartition(":")[2].removeprefix("spacy-flat.")


def _joined(names: Sequence[str], meanings: Sequence[str]) -> str:
    """One meaning where all mean the same, else each with what it is of."""
    of = {
        meaning: short(name)
        for name, meaning in reversed(list(zip(names, meanings, strict=True)))
        if meaning
    }
    if not of:
        raise ValueError(f"No docstring of {names} says what one of the arguments means.")
    if len(of) == 1:
        return next(iter(of))
    return "; ".join(f"{meaning} (`{name}`)" for meaning, name in reversed(of.items()))


def written(value: Any) -> str:
    """A default as a config has it."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


# Docstrings


class Documented:
    """A function, class or property, and what its docstring says.

    Arguments stand in a docstring as "name: meaning" or "name, name: meaning" at the start of a
    line; further lines of a meaning are indented.
    """

    def __init__(self, thing: Any) -> None:
        self.thing: Any = thing.fget if isinstance(thing, property) else inspect.unwrap(thing)
        self.is_property = isinstance(thing, property)
        self.doc = inspect.getdoc(self.thing) or ""

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        if self.is_property:
            return {}
        parameters = inspect.signature(self.thing).parameters
        return {name: each for name, each in parameters.items() if name not in GIVEN_BY_SPACY}

    @property
    def returned(self) -> "Documented":
        """What a factory makes."""
        return Documented(get_type_hints(self.thing)["return"])

    @property
    def summary(self) -> str:
        """The first sentence, without the registered name that some begin with."""
        text = re.sub(r"^`spacy-flat\.[^`]+`: ", "", self.paragraphs[0])
        return re.split(r"(?<!al)\. |;", text[0].upper() + text[1:])[0].rstrip(".")

    @property
    def paragraphs(self) -> list[str]:
        """Paragraphs and arguments, on one line each."""
        parts: list[list[str]] = []
        for block in self.doc.split("\n\n"):
            parts.append([])
            for line in block.splitlines():
                after_argument = parts[-1] and self.is_argument(parts[-1][0])
                if self.is_argument(line) or (after_argument and not line.startswith(" ")):
                    parts.append([])
                parts[-1].append(line.strip())
        return [" ".join(lines) for lines in parts if lines]

    @cached_property
    def meanings(self) -> dict[str, str]:
        """What each argument means."""
        found = {}
        for paragraph in filter(self.is_argument, self.paragraphs):
            names, _, meaning = paragraph.partition(": ")
            found.update(dict.fromkeys(names.split(", "), meaning.rstrip(".")))
        if inspect.isclass(self.thing) and self.thing.__base__.__module__.startswith("spacy_flat."):
            return {**Documented(self.thing.__base__).meanings, **found}
        return found

    def is_argument(self, line: str) -> bool:
        match = ARGUMENT.match(line)
        known = {*self.parameters, *getattr(self.thing, "__annotations__", ())}
        return match is not None and known.issuperset(match[1].split(", "))

    def default(self, argument: str) -> str | None:
        """The default of an argument: empty where it is required, None without this argument."""
        if argument not in self.parameters:
            return None
        default = self.parameters[argument].default
        return "" if default is inspect.Parameter.empty else written(default)


def make_reference(names: Sequence[str]) -> Iterator[str]:
    """Functions and classes, with all that is public in these (of components, what spaCy doesn't
    document), and their first sentences."""
    for name in names:
        thing = find(name)
        short_name = name.rpartition(":")[2]
        by_spacy = dir(TrainablePipe) if TrainablePipe in getattr(thing, "__mro__", ()) else ()
        members = [
            f"- `{signature(member, value)}`: {Documented(unwrapped(value)).summary}"
            for member, value in (vars(thing).items() if inspect.isclass(thing) else ())
            if is_public(member, value) and member not in by_spacy
        ]
        if not members:
            yield f"`{signature(short_name, thing)}`: {Documented(thing).summary}."
            yield ""
            continue
        yield f"### {short_name}"
        yield ""
        yield f"{Documented(thing).summary}."
        yield ""
        yield from [*members, ""]


# What components and their parts call of each other.
INTERNAL = {
    *("check_tokens", "register_labels", "initialize_with", "trusted_words", "choose"),
    *("compare", "components_before", "knows_equals", "logits", "read", "probabilities"),
    *("close_types", "simplify"),
}


def is_public(name: str, value: Any) -> bool:
    function = value.fget if isinstance(value, property) else unwrapped(value)
    if not inspect.isfunction(function) or not function.__module__.startswith("spacy_flat."):
        return False
    return bool(function.__doc__) and not name.startswith("_") and name not in INTERNAL


def unwrapped(value: Any) -> Any:
    return getattr(value, "__func__", value)


def signature(name: str, thing: Any) -> str:
    """A name with its arguments, and the defaults of these."""
    if isinstance(thing, property):
        return name
    arguments = []
    for each in Documented(unwrapped(thing)).parameters.values():
        default = "" if each.default is inspect.Parameter.empty else f"={each.default!r}"
        arguments.append(each.name + default)
    return f"{name}({', '.join(arguments)})"


KINDS: dict[str, Callable[[Sequence[str]], Iterator[str]]] = {
    "options": make_options,
    "settings": make_settings,
    "arguments": make_arguments,
    "reference": make_reference,
}


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text("utf-8")), "utf-8")
