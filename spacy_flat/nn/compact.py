"""A network with smaller tables of embeddings, in place of a trained one."""

import copy
from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
import torch
from numpy.typing import NDArray

from .network import PretrainedEmbedding, Table
from .shim import TorchShim


def compact_network(shim: TorchShim, rows: Mapping[str, NDArray[np.int64]], bits: int) -> TorchShim:
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
    compacted = TorchShim(shim.build, {**shim.config, "sizes": sizes}, shim.placement)
    state = compacted.module.state_dict()
    with torch.no_grad():
        for name, value in shim.module.state_dict().items():
            if name.partition(".")[0] not in rows:
                state[name].copy_(value)
        for name, keys in rows.items():
            embedding: PretrainedEmbedding = getattr(compacted.module, name)
            embedding.merge(
                getattr(shim.module, name), torch.from_numpy(keys).to(shim.device), bits
            )
    return compacted


@torch.no_grad()
def rounded(shim: TorchShim) -> TorchShim:
    """The same network with numbers rounded to bfloat16: a packed file takes no room for the other
    16 bits."""
    copied = copy.deepcopy(shim)
    for parameter in copied.module.parameters():
        parameter.copy_(parameter.bfloat16())
    return copied
