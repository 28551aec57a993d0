"""A lexicon as bytes: a header of one line (JSON) and the arrays (safetensors)."""

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from ..text.scripts import Simplifier
from .snapshot import COLUMNS, Automaton, Snapshot
from .word_lists import NOT_ENTITY

# safetensors is imported where it is used: every `Language()` imports the components.

FORMAT = 3


def to_bytes(snapshot: Snapshot) -> bytes:
    """What `from_bytes` reads. Its checksum is that of the component's model."""
    from safetensors.numpy import save

    # The automata are among the arrays: building them again takes seconds.
    arrays = {name: getattr(snapshot, name) for name in COLUMNS}
    arrays["text"] = np.frombuffer(snapshot.text, np.uint8)
    for number, automaton in enumerate(snapshot.automata):
        arrays[f"automaton_{number}"] = np.frombuffer(automaton.save(), np.uint8)
    fields = {
        "format": FORMAT,
        "daachorse": version("daachorse"),
        "settings": {"ignore_case": snapshot.ignore_case, "simplified": snapshot.simplifier.pairs},
        "type_names": snapshot.type_names,
        "automata": [automaton.first for automaton in snapshot.automata],
    }
    return json.dumps(fields).encode() + b"\n" + save(arrays)


def from_bytes(data: bytes) -> Snapshot:
    """Load from `to_bytes`. Raises ValueError (F024) for other data."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header, _, saved = data.partition(b"\n")
    try:
        fields = json.loads(header)
        if fields["format"] != FORMAT:
            raise ValueError(f"its format is {fields['format']}")
        return _snapshot(fields, load(saved))
    except (
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
        SafetensorError,
    ) as error:
        raise ValueError(Errors.F024.format(reason=repr(error))) from error


def _snapshot(fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Snapshot:
    if "blocked" not in arrays:  # saved when `not_entity` was a type like others
        blocked = np.isin(fields["type_names"], [NOT_ENTITY])[arrays["types"]]
        types = np.where(blocked, 0, arrays["types"])
        arrays = {**arrays, "types": types, "blocked": blocked}
    columns: dict[str, Any] = {name: arrays[name] for name in COLUMNS}
    settings = fields["settings"]
    snapshot = Snapshot(
        settings.get("ignore_case", True),
        Simplifier(settings["simplified"]),
        text=arrays["text"].tobytes(),
        **columns,
        type_names=tuple(fields["type_names"]),
    )
    firsts = fields["automata"]
    if fields["daachorse"] == version("daachorse"):
        saved = (arrays[f"automaton_{number}"].tobytes() for number in range(len(firsts)))
        automata = map(Automaton.load, saved, firsts)
    else:
        words = [snapshot.word(id) for id in range(snapshot.size)]
        ends = [*firsts[1:], snapshot.size]
        parts = (words[first:end] for first, end in zip(firsts, ends, strict=True))
        automata = map(Automaton.build, parts, firsts)
    return replace(snapshot, automata=tuple(automata))
