"""Embedding tables with a pretrained part that never changes and a trained part that does."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Table:
    """Size of an embedding table; a width of 0 means that there is none."""

    keys: int
    trained: int
    width: int
    float16: bool = False


NO_TABLE = Table(0, 0, 0)


class PretrainedEmbedding(nn.Module):
    """The vector of a key is its pretrained vector, where it has one, plus a trained offset.

    Keys are numbered 1 to `n_keys`. The first `n_trained` of them occurred in training and have an
    offset of their own; the rest are known by their pretrained vectors alone, which so stay usable
    at prediction. Key 0 is every unknown key: it has an offset only.

    An offset of a key with a pretrained vector starts at zero: training it is fine-tuning. Other
    offsets start uniform in ±√(3 / d), d the width of a vector.

    float16: keep the pretrained vectors in half precision.
    """

    pretrained: Tensor  # [1 + keys, width]

    def __init__(self, n_keys: int, n_trained: int, width: int, *, float16: bool = False) -> None:
        super().__init__()
        self.n_trained = n_trained
        self.width = width
        dtype = torch.float16 if float16 else torch.float32
        self.register_buffer("pretrained", torch.zeros(n_keys + 1, width, dtype=dtype))
        # The last row stays zero: keys that are not trained add nothing to their vectors.
        self.offsets = nn.Embedding(n_trained + 2, width, padding_idx=n_trained + 1, sparse=True)
        bound = math.sqrt(3 / width)
        nn.init.uniform_(self.offsets.weight, -bound, bound)
        with torch.no_grad():
            self.offsets.weight[-1] = 0.0

    @torch.no_grad()
    def set_pretrained(self, keys: Tensor, vectors: Tensor) -> None:
        """keys: [N] numbers of keys; vectors: [N, width]."""
        keys = keys.to(self.pretrained.device)
        self.pretrained[keys] = vectors.to(self.pretrained)
        self.offsets.weight[keys[keys <= self.n_trained]] = 0.0

    def forward(self, keys: Tensor) -> Tensor:
        """[...] → [..., width]. In training nothing flows back into the pretrained vectors."""
        offsets: Tensor = self.offsets(keys.clamp(max=self.n_trained + 1))
        return offsets + nn.functional.embedding(keys, self.pretrained).to(offsets.dtype)


def drop_keys(keys: Tensor, rate: float) -> Tensor:
    """Make some keys unknown, so that the unknown key's vector is learnt."""
    return keys.masked_fill(torch.rand(keys.shape, device=keys.device) < rate, 0)


def make_embedding(table: Table) -> PretrainedEmbedding:
    return PretrainedEmbedding(table.keys, table.trained, table.width, float16=table.float16)
