"""Load a saved pipeline on a given device."""

from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.util import get_package_path, is_package, load_config

from .nn.shim import find_device


def load_on_device(source: str, device: str = "") -> Language:
    """A pipeline (package or folder).

    device: the device of the components that have this setting; "" for those in the config.

    Raises ValueError (F350) for a missing device; otherwise as `spacy.load`.
    """
    if not device:
        return spacy.load(source)
    find_device(device)
    folder = get_package_path(source) if is_package(source) else Path(source)
    # A package has the pipeline in a subfolder. For other folders spaCy raises an error.
    configs = map(load_config, (*folder.glob("config.cfg"), *folder.glob("*/config.cfg")))
    components: dict[str, Any] = next(configs, {"components": {}})["components"]
    has_device = [name for name, own in components.items() if isinstance(own.get("device"), str)]
    return spacy.load(source, config={f"components.{name}.device": device for name in has_device})
