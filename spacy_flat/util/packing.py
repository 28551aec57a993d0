"""What packs Docs and weights: msgpack, through srsly."""

import srsly


def look_up_once() -> None:
    """Let srsly keep its encoders and decoders: it goes through the functions of all registries and
    the entry points of all installed packages each time it packs anything, most of the time that
    many small Docs take."""
    for registry in (srsly.msgpack_encoders, srsly.msgpack_decoders):
        found = type(registry).get_all(registry)
        registry.get_all = lambda found=found: found
