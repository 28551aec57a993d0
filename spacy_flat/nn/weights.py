"""A network's weights as bytes: one safetensors file whose metadata hold the configuration.

Loading runs no code from the file: a JSON header and arrays, nothing else. Any safetensors reader
opens it.
"""

import json
from collections.abc import Iterable
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from ..errors import Errors

# The one metadata entry: several would be written in any order.
FORMAT = "spacy-flat.weights.v1"

Version = list[tuple[int, int]]


def version_of(weights: Iterable[Tensor]) -> Version:
    """What changes as soon as one of the weights is replaced or changed in place."""
    return [(weight.data_ptr(), weight._version) for weight in weights]


def to_bytes(network: nn.Module, config: dict[str, Any]) -> bytes:
    """Parameters and persistent buffers of a network, with the arguments that construct it.

    `config` must be JSON. A tensor known under several names is stored once.
    """
    tensors = {name: _storable(tensor) for name, tensor in _distinct(network).items()}
    return save(tensors, {FORMAT: json.dumps(config, ensure_ascii=False)})


def read_config(data: bytes) -> dict[str, Any]:
    """The configuration in a weights file.

    Raises:
        ValueError: not a weights file, or damaged (F200).
    """
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length])
        config: dict[str, Any] = json.loads(header["__metadata__"][FORMAT])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(Errors.F200.format(reason=repr(error))) from error
    return config


def load_into(network: nn.Module, data: bytes) -> None:
    """Fill a network, constructed from the same configuration, with the weights of `data`.

    Values are converted to the network's own types and devices.

    Raises:
        ValueError: damaged (F200), or names or shapes differ from the network's (F201).
    """
    try:
        stored = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ValueError(Errors.F200.format(reason=error)) from error
    expected = _distinct(network)
    for name in sorted(expected.keys() | stored.keys()):
        wanted = _shape(expected.get(name))
        found = _shape(stored.get(name))
        if wanted != found:
            raise ValueError(Errors.F201.format(name=name, wanted=wanted, found=found))
    with torch.no_grad():
        for name, tensor in expected.items():
            tensor.copy_(stored[name])


def _distinct(network: nn.Module) -> dict[str, Tensor]:
    """The network's state, each tensor under its first name only."""
    tensors: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        tensors.setdefault(id(tensor), (name, tensor.detach()))
    return dict(tensors.values())


def _storable(tensor: Tensor) -> Tensor:
    """On the CPU, contiguous, and sharing no memory with another tensor of the network."""
    tensor = tensor.cpu().contiguous()
    whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return tensor if whole else tensor.clone()


def _shape(tensor: Tensor | None) -> list[int] | None:
    return None if tensor is None else list(tensor.shape)
