"""A network with smaller tables of embeddings, in place of a trained one."""

import copy
from collections.abc import Mapping
from dataclasses import asdict, replace

import torch

from ..util.arrays import Ints
from .embeddings import PretrainedEmbedding, Table
from .shim import TorchShim
from .weights import distinct, is_matrix, quantise


def compact_network(shim: TorchShim, rows: Mapping[str, Ints], bits: int) -> TorchShim:
    """The same network with other tables.

    rows: of each table the keys [N] that are kept. They become the keys 1 to N, and none of them is
        trained any more.
    bits: of a number in a table, 32, 16, or 2 to 8.
    """
    sizes = dict(shim.config["sizes"])
    for name, keys in rows.items():
        table = Table(**sizes[name])
        new = replace(table, keys=len(keys), trained=0, float16=bits == 16, int8=bits <= 8)
        sizes[name] = asdict(new)
    compacted = TorchShim(shim.build, {**shim.config, "sizes": sizes}, shim.device_name)
    state = distinct(compacted.module)
    with torch.no_grad():
        for name, value in distinct(shim.module).items():
            if name.partition(".")[0] not in rows:
                state[name].copy_(value)
        for name, keys in rows.items():
            embedding: PretrainedEmbedding = getattr(compacted.module, name)
            embedding.merge(
                getattr(shim.module, name), torch.from_numpy(keys).to(shim.device), bits
            )
    return compacted


@torch.no_grad()
def rounded(shim: TorchShim, bits: int = 16) -> TorchShim:
    """The same network with rounded numbers.

    bits: 32 for a plain copy, 16 for bfloat16, of which a packed file stores no more, or 2 to 8 in
        matrices, with a scale for each row.
    """
    copied = copy.deepcopy(shim)
    if bits == 32:
        return copied
    for value in distinct(copied.module).values():
        if bits < 16 and is_matrix(value):
            numbers, scales = quantise(value.flatten(1), bits)
            value.copy_((numbers * scales).view_as(value))
        elif value.dtype == torch.float32:
            value.copy_(value.bfloat16())
    if bits < 16:
        copied.config["bits"] = bits
    return copied
