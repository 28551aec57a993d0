"""Options in tests: flat, whether a config has them as settings or in `variant`."""

from __future__ import annotations

from inspect import signature
from typing import Any

from spacy.language import Language
from spacy.util import registry


def flat_options(factory: str, model: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """A component's config."""
    return {"model": blocks(factory, model), **settings}


def blocks(factory: str, model: dict[str, Any]) -> dict[str, Any]:
    """The model of a component's config, each option moved to its place."""
    default = Language.get_factory_meta(factory).default_config["model"]
    return {
        name: variant(default[name]["@misc"], value)
        if isinstance(value, dict) and "@misc" in (default.get(name) or {}) and name != "tok2vec"
        else value
        for name, value in model.items()
    }


def variant(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """A block of options, those that are no settings in `variant`."""
    settings = signature(registry.misc.get(options.get("@misc", name))).parameters
    own = {key: value for key, value in options.items() if key in settings or key == "@misc"}
    others = {key: value for key, value in options.items() if key not in own}
    return own | ({"variant": others} if others else {})
