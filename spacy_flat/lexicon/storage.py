"""A lexicon as bytes or as a file: a header of one line (JSON) and the arrays (safetensors)."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .automaton import Automaton
from .content import COLUMNS, Content
from .sources import UNSET

FORMAT = 3
FILE = "lexicon.bin"

# safetensors is imported where it is used: every spaCy command imports this module.


def to_bytes(content: Content, settings: Mapping[str, Any]) -> bytes:
    """settings: keyword arguments of the lexicon."""
    from safetensors.numpy import save

    # The automata are among the arrays: building them again takes seconds.
    arrays = {name: getattr(content, name) for name in COLUMNS}
    arrays["text"] = np.frombuffer(content.text, np.uint8)
    for number, automaton in enumerate(content.automata):
        arrays[f"automaton_{number}"] = np.frombuffer(automaton.save(), np.uint8)
    saved = save(arrays)
    fields = {
        "format": FORMAT,
        "daachorse": version("daachorse"),
        "settings": dict(settings),
        "type_names": content.type_names,
        "origin_names": content.origin_names,
        "dropped": dict(content.dropped),
        "automata": [automaton.first for automaton in content.automata],
    }
    return _header(fields, saved) + b"\n" + saved


def from_bytes(data: bytes) -> tuple[Content, dict[str, Any]]:
    """Content and settings. Raises ValueError for damaged data (F024) and for another version's
    format (F025)."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if not isinstance(data, bytes | bytearray):
        raise ValueError(Errors.F024.format(reason=f"expected bytes, but got {data!r:.60}"))
    header, _, saved = data.partition(b"\n")
    fields = _read_header(header, saved)
    if fields.get("format") != FORMAT:
        raise ValueError(Errors.F025.format(found=fields.get("format"), expected=FORMAT))
    try:
        return _content(fields, load(saved)), fields["settings"]
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise ValueError(Errors.F024.format(reason=repr(error))) from error


def _header(fields: Mapping[str, Any], saved: bytes) -> bytes:
    """The fields as JSON, with a checksum of fields and arrays."""
    checksum = zlib.crc32(saved, zlib.crc32(json.dumps(fields).encode()))
    return json.dumps({**fields, "checksum": checksum}).encode()


def _read_header(header: bytes, saved: bytes) -> dict[str, Any]:
    """The fields. Raises ValueError (F024) if the checksum differs."""
    try:
        fields = dict(json.loads(header))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(Errors.F024.format(reason=f"no header ({error!r})")) from error
    fields.pop("checksum", None)
    # Compared as bytes, since JSON can be written in several ways.
    if header != _header(fields, saved):
        raise ValueError(Errors.F024.format(reason="the checksum differs"))
    return fields


def _content(fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Content:
    # Those of earlier versions have no trust.
    arrays = {"trusts": np.full(len(arrays["lengths"]), UNSET, np.float32), **arrays}
    content = Content(
        text=arrays["text"].tobytes(),
        **{name: arrays[name] for name in COLUMNS},
        type_names=tuple(fields["type_names"]),
        origin_names=tuple(fields["origin_names"]),
        automata=(),
        dropped=fields["dropped"],
    )
    return replace(content, automata=_automata(content, fields, arrays))


def _automata(
    content: Content, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[Automaton, ...]:
    """The saved automata, rebuilt if another daachorse saved them."""
    firsts = fields["automata"]
    if fields["daachorse"] == version("daachorse"):
        return tuple(
            Automaton.load(arrays[f"automaton_{number}"].tobytes(), first)
            for number, first in enumerate(firsts)
        )
    ends = [*firsts[1:], content.size]
    return tuple(
        Automaton.build([content.word(id) for id in range(first, end)], first)
        for first, end in zip(firsts, ends, strict=True)
    )
