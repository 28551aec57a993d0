"""A network's weights as bytes: one safetensors file whose metadata hold the configuration.

Loading runs no code from the file: a JSON header and arrays, as any safetensors reader opens.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Errors

# safetensors is imported where it is used: every `Language()` imports the components.

# The one metadata entry: several would be written in any order.
FORMAT = "spacy-flat.weights.v1"

SCALES = ".scales_of_rows"  # after the name of a matrix of whole numbers


def to_bytes(network: nn.Module, config: dict[str, Any]) -> bytes:
    """Parameters and persistent buffers of a network, with the arguments that construct it.

    `config` must be JSON. A tensor known under several names is stored once. With `config["bits"]`,
    matrices that so few bits hold exactly are stored as whole numbers.
    """
    from safetensors.torch import save

    tensors = {name: _storable(tensor) for name, tensor in distinct(network).items()}
    if "bits" in config:
        tensors = dict(_in_few_bits(tensors, config["bits"]))
    return save(tensors, {FORMAT: json.dumps(config, ensure_ascii=False)})


def load_network(
    build: Callable[[dict[str, Any]], nn.Module], data: bytes
) -> tuple[nn.Module, dict[str, Any]]:
    """The network in a weights file, and its configuration. Checks sizes before allocating.

    Raises ValueError for damaged data (F200), and names or shapes other than the network's (F201).
    """
    config, stored = read_config(data), read_tensors(data)
    try:
        with torch.device("meta"):  # shapes alone
            skeleton = build(config)
    except ValueError:  # a coded one, such as for options that differ
        raise
    except Exception as error:
        raise ValueError(Errors.F200.format(reason=repr(error))) from error
    fill(skeleton, stored)
    network = build(config)
    fill(network, stored)
    return network, config


def read_config(data: bytes) -> dict[str, Any]:
    """The configuration in a weights file.

    Raises ValueError (F200) for another file, or damaged data.
    """
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length])
        config: dict[str, Any] = json.loads(header["__metadata__"][FORMAT])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(Errors.F200.format(reason=repr(error))) from error
    return config


def read_tensors(data: bytes) -> dict[str, Tensor]:
    """The tensors in a weights file. Raises ValueError (F200) for damaged data."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return merge_scales(load(data))
    except (SafetensorError, ValueError) as error:
        raise ValueError(Errors.F200.format(reason=error)) from error


@torch.no_grad()
def fill(network: nn.Module, stored: Mapping[str, Tensor]) -> None:
    """Set the weights of a network of the same configuration, in its own types and devices.

    Raises ValueError for other names or shapes (F201), whole numbers without scales (F200).
    """
    own = distinct(network)
    for name in sorted(own.keys() | stored.keys()):
        wanted, found = _shape(own.get(name)), _shape(stored.get(name))
        if wanted != found:
            raise ValueError(Errors.F201.format(name=name, wanted=wanted, found=found))
        if own[name].is_floating_point() > stored[name].is_floating_point():
            raise ValueError(Errors.F200.format(reason=f"{name} has no scales"))
        own[name].copy_(stored[name])


def quantise(vectors: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """[N, d] → whole numbers of so many bits, 2 to 8, in int8 [N, d], and their scales [N, 1]."""
    most = 2 ** (bits - 1) - 1
    largest = vectors.abs().amax(dim=1, keepdim=True)
    # bfloat16 is exact enough, has scales of any size, and its trailing zeros compress to nothing.
    # So exact that a row's largest number stays the largest value: a second time changes nothing.
    scales = (largest / most).bfloat16().float()
    divisors = torch.where(scales > 0, scales, torch.inf)  # a vector of zeros stays one
    return (vectors / divisors).round().clamp(-most, most).to(torch.int8), scales


def is_matrix(tensor: Tensor) -> bool:
    """Whether a tensor has rows to quantise."""
    return tensor.dtype == torch.float32 and tensor.dim() > 1 and tensor.numel() > 0


def _in_few_bits(tensors: dict[str, Tensor], bits: int) -> Iterator[tuple[str, Tensor]]:
    """Store the matrices that so many bits hold exactly as whole numbers and scales. What further
    training has changed stays as it is."""
    for name, tensor in tensors.items():
        if is_matrix(tensor):
            numbers, scales = quantise(tensor.flatten(1), bits)
            if torch.equal(numbers * scales, tensor.flatten(1)):
                yield name + SCALES, scales
                tensor = numbers.view_as(tensor)
        yield name, tensor


def merge_scales(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices of whole numbers as floats: the inverse of `_in_few_bits`.

    Raises ValueError for scales that don't fit their matrix.
    """
    whole = {name: tensor for name, tensor in stored.items() if not name.endswith(SCALES)}
    for name in stored.keys() - whole.keys():
        scales, matrix = stored[name], whole.get(name.removesuffix(SCALES))
        is_scaled = matrix is not None and matrix.dtype == torch.int8 and matrix.dim() > 1
        if matrix is None or not is_scaled or scales.shape != (len(matrix), 1):
            raise ValueError(f"{name} fits no matrix")
        whole[name.removesuffix(SCALES)] = (matrix.flatten(1) * scales).view_as(matrix)
    return whole


def distinct(network: nn.Module) -> dict[str, Tensor]:
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
