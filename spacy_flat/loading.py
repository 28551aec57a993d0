"""Load a saved pipeline on a given device, and find its components."""

from pathlib import Path

import spacy
from spacy.language import Language
from spacy.util import get_package_path, is_package, load_config


def load_on_device(source: str, device: str = "") -> Language:
    """A pipeline (package or folder).

    device: the device of the components that have this setting; "" for those in the config.

    Raises ValueError (F350) for a missing device; otherwise as `spacy.load`.
    """
    if not device:
        return spacy.load(source)
    from .nn.devices import find_device

    find_device(device)
    names = components_with_device(source)
    return spacy.load(source, config={f"components.{name}.device": device for name in names})


def components_with_device(source: str) -> list[str]:
    """The names of the components with a setting `device`, such as those of this package."""
    folder = get_package_path(source) if is_package(source) else Path(source)
    # A package has the pipeline in a subfolder. For other folders spaCy raises an error.
    for path in (*folder.glob("config.cfg"), *folder.glob("*/config.cfg")):
        components = load_config(path).get("components", {})
        return [name for name, block in components.items() if isinstance(block.get("device"), str)]
    return []


def entity_components(nlp: Language) -> list[str]:
    """The names of the enabled components that declare that they set `doc.ents`."""
    return [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
