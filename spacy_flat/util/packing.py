"""What packs Docs and weights: msgpack, through srsly."""

import srsly


def look_up_once() -> None:
    """Let srsly keep its encoders and decoders: it searches the entry points of all installed
    packages each time it packs anything, two thirds of the time that many small Docs take."""
    for registry in (srsly.msgpack_encoders, srsly.msgpack_decoders):
        for name, function in registry.get_all().items():
            registry.register(name, func=function)
        registry.entry_points = False
