"""A lexicon as bytes: a header of one line (JSON) and the arrays (safetensors)."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from ..util.simplified import Simplifier
from .automaton import Automaton
from .snapshot import COLUMNS, Snapshot
from .word_lists import UNSET

FORMAT = 3
SETTINGS = ("full_width", "ignore_case", "min_length")

# safetensors is imported where it is used: every spaCy command imports this module.


def to_bytes(snapshot: Snapshot) -> bytes:
    """What `from_bytes` reads."""
    from safetensors.numpy import save

    # The automata are among the arrays: building them again takes seconds.
    arrays = {name: getattr(snapshot, name) for name in COLUMNS}
    arrays["text"] = np.frombuffer(snapshot.text, np.uint8)
    for number, automaton in enumerate(snapshot.automata):
        arrays[f"automaton_{number}"] = np.frombuffer(automaton.save(), np.uint8)
    saved = save(arrays)
    settings = {name: getattr(snapshot, name) for name in SETTINGS}
    fields = {
        "format": FORMAT,
        "daachorse": version("daachorse"),
        "settings": {**settings, "simplified": snapshot.simplifier.pairs},
        "type_names": snapshot.type_names,
        "automata": [automaton.first for automaton in snapshot.automata],
    }
    return _header(fields, saved) + b"\n" + saved


def from_bytes(data: bytes) -> Snapshot:
    """Load from `to_bytes`. Raises ValueError for damaged data (F024) and for another version's
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
        return _snapshot(fields, load(saved))
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


def _snapshot(fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Snapshot:
    settings = fields["settings"]
    # Those of earlier versions have no trust, and heed no case.
    arrays = {"trusts": np.full(len(arrays["lengths"]), UNSET, np.float32), **arrays}
    columns: dict[str, Any] = {name: arrays[name] for name in COLUMNS}
    snapshot = Snapshot(
        settings["full_width"],
        settings.get("ignore_case", True),
        settings["min_length"],
        text=arrays["text"].tobytes(),
        **columns,
        simplifier=Simplifier(settings["simplified"]),
        type_names=tuple(fields["type_names"]),
    )
    return replace(snapshot, automata=_automata(snapshot, fields, arrays))


def _automata(
    snapshot: Snapshot, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[Automaton, ...]:
    """The saved automata, rebuilt if another daachorse saved them."""
    firsts = fields["automata"]
    if fields["daachorse"] == version("daachorse"):
        return tuple(
            Automaton.load(arrays[f"automaton_{number}"].tobytes(), first)
            for number, first in enumerate(firsts)
        )
    ends = [*firsts[1:], snapshot.size]
    return tuple(
        Automaton.build([snapshot.word(id) for id in range(first, end)], first)
        for first, end in zip(firsts, ends, strict=True)
    )
