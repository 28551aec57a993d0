"""Configs in tests: options by name, whether they are settings or in `variant`."""

from functools import cache
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spacy.cli.init_config import fill_config
from spacy.language import Language
from spacy.util import load_config, registry
from thinc.api import Config


def pipe_config(factory: str, model: dict[str, Any], **settings: Any) -> dict[str, Any]:
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


@cache
def filled(path: Path) -> Config:
    """A config with every setting, as `spacy init fill-config` writes it."""
    with TemporaryDirectory() as folder:
        fill_config(Path(folder) / "filled.cfg", path, silent=True)
        return load_config(Path(folder) / "filled.cfg")
