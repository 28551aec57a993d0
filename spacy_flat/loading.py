"""Opening a saved pipeline on a device of choice."""

from pathlib import Path

import spacy
from spacy.language import Language
from spacy.util import get_package_path, is_package, load_config


def load_on_device(source: str, device: str = "") -> Language:
    """A pipeline (package or folder).

    device: what the networks of its components compute on, where they have this setting; "" for
        what its config says.

    Raises ValueError (F350) for a missing device; otherwise as `spacy.load`.
    """
    if not device:
        return spacy.load(source)
    from .nn.devices import find_device

    find_device(device)
    names = components_with_device(source)
    return spacy.load(source, config={f"components.{name}.device": device for name in names})


def components_with_device(source: str) -> list[str]:
    """The names of a pipeline's components that have a setting `device`, as this package's have."""
    folder = get_package_path(source) if is_package(source) else Path(source)
    # A package has the pipeline in a subfolder. For other folders spaCy raises an error.
    for path in (*folder.glob("config.cfg"), *folder.glob("*/config.cfg")):
        components = load_config(path).get("components", {})
        return [name for name, block in components.items() if isinstance(block.get("device"), str)]
    return []
